"""Training: the function behind `synmt train`."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from synmt.api.given import Pair, lines_of_pairs, not_given, takes
from synmt.model.config import ModelConfig
from synmt.model.folder import ModelFolder
from synmt.options import Rules, check_keywords, check_used
from synmt.streams import Message, Notes, OnError, WrongUsage
from synmt.streams.paths import check_apart
from synmt.streams.process import random_numbers_kept
from synmt.training.fit import Recipe
from synmt.training.presets import DEFAULT
from synmt.training.run import PairFiles, TrainingText
from synmt.training.run import train as train_text
from synmt.training.start import choose, configs_of, known, owners

Pairs = str | Path | tuple[str | Path, str | Path] | PairFiles | Iterable[Pair]


@takes(*not_given(known()))
def train(
    pairs: Pairs,
    dev: Pairs | None = None,
    *,
    out: str | Path,
    resume: bool = False,
    device: str = "auto",
    on_error: OnError = "fail",
    prepared: str | Path | None = None,
    jobs: int = 1,
    **settings: Any,
) -> Path:
    """Train a translation model on sentence pairs, and return its folder, `out`.

    pairs, dev: for training and validation: (source file, target file), one file of `source TAB target` lines, or
    (source, target) pairs. resume: continue the run in `out`; on_error: fail, or blank: a bad pair is left out and
    counted in a warning; prepared: the folder for prepared pairs, None for the user's cache; jobs: processes that
    prepare them. settings: the options of `synmt train`. Progress goes to stderr.

    Raises BadInput, TypeError and ValueError, also for a setting that has no effect.
    """
    check_keywords(settings, known())
    given = {name: value for name, value in settings.items() if value is not None}
    data, validation = files_of(pairs, "pairs"), None if dev is None else files_of(dev, "dev")
    files = [file for each in (data, validation) if each for file in each.options().values()]
    files += [given[name] for name in ("init", "codes") if name in given]
    check_apart([("--out", str(out))], files)
    start = ModelFolder.open(Path(given.pop("init")), ModelConfig) if "init" in given else None
    flags = {name.replace("_", "-"): value for name, value in given.items()}
    flags |= {"out": out} | ({"init": start} if start else {}) | ({"dev-tsv": dev} if validation else {})
    config_of_start = start.config if start else None
    try:
        check_used(flags, known(), Rules(partial(choose, start=config_of_start), owners))
        config, training = configs_of(given, config_of_start, data.source, data.target)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    notes = Notes()
    if "preset" not in given:
        notes.add(Message(f"--preset {DEFAULT}, which suits a CPU; --preset few-pairs suits fewer than 3,000 pairs"))
    text = TrainingText(data, config, Recipe(training, given.get("codes"), start), jobs)
    folder = Path(prepared) if prepared else None
    with random_numbers_kept():
        train_text(Path(out), text, validation, resume, device, on_error, folder, notes)
    return Path(out)


def files_of(pairs: Pairs, name: str) -> PairFiles:
    """Return the files that the pairs are read from. name: of pairs without a file, in messages."""
    if isinstance(pairs, PairFiles):
        return pairs
    if isinstance(pairs, str | Path):
        return PairFiles(str(pairs))
    if isinstance(pairs, tuple) and len(pairs) == 2 and all(isinstance(each, str | Path) for each in pairs):
        source, target = map(str, pairs)
        return PairFiles(source, target)
    return PairFiles(name, given=partial(lines_of_pairs, pairs, name))  # type: ignore[arg-type]
