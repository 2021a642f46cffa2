"""Training: the function behind `synmt train`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from synmt.api.given import Pairs, as_given, chosen_of, files_in, lines_of_pairs, public
from synmt.components import DECODER_COMPONENTS, ENCODER_COMPONENTS
from synmt.components.contract import DecoderComponent, EncoderComponent
from synmt.model.config import ModelConfig
from synmt.model.folder import read_folder_config
from synmt.nn.config import TransformerConfig
from synmt.options import check_used, given
from synmt.streams import OnError
from synmt.streams.paths import check_apart
from synmt.text.tokenization import TextConfig
from synmt.training.config import TrainingConfig
from synmt.training.run import PairFiles, train_with
from synmt.training.start import RULES, known

System = str | EncoderComponent | DecoderComponent


@public
def train(
    pairs: Pairs,
    dev: Pairs | None = None,
    *,
    out: str | Path,
    model: System | Sequence[System] | None = None,
    training: TrainingConfig = TrainingConfig(),
    network: TransformerConfig = TransformerConfig(),
    text: TextConfig = TextConfig(),
    preset: str | None = None,
    init: str | Path | None = None,
    codes: str | Path | None = None,
    split_arcs: bool = False,
    root_arc: bool = False,
    resume: bool = False,
    device: str = "auto",
    on_error: OnError = "fail",
    prepared: str | Path | None = None,
    jobs: int = 1,
) -> Path:
    """Train a translation model on sentence pairs, and return its folder, `out`.

    pairs, dev: for training and validation: (source file, target file), one file of `source TAB target` lines, or
    (source, target) pairs. model: a component by name, or with its options, such as `Pascal(heads=2)`; or several, each
    for its own side; None: sequence, or the model of `init`. preset: decides the settings that the configs do not name;
    init: a model to continue training; codes: BPE codes to use; split_arcs, root_arc: as in `synmt train`; resume:
    continue the run in `out`; on_error: fail, or blank: a bad pair is left out and counted in a warning; prepared: the
    folder for prepared pairs, None for the user's cache; jobs: processes that prepare them. Progress goes to stderr.

    Raises BadInput, TypeError and ValueError, also for a setting that has no effect.
    """
    of_training, of_dev = files_of(pairs, "pairs"), None if dev is None else files_of(dev, "dev")
    files = [file for each in (of_training, of_dev) if each for file in each.options().values()]
    check_apart([("--out", str(out))], [*files, *(str(each) for each in (init, codes) if each)])
    others = {"preset": preset, "init": init, "codes": codes}
    asked = given(training) | given(network) | given(text)
    asked |= {name: str(value) for name, value in others.items() if value is not None}
    asked |= {name: True for name, value in (("split_arcs", split_arcs), ("root_arc", root_arc)) if value}
    if model is not None:
        asked |= _system(model, read_folder_config(Path(init), ModelConfig)[0] if init else None)
    data = {"out": out} | ({} if dev is None else {"dev-tsv": dev})
    check_used(as_given(asked) | data, known(), RULES)
    train_with(
        asked, of_training, of_dev, Path(out), resume, device, on_error, Path(prepared) if prepared else None, jobs
    )
    return Path(out)


def _system(model: object, start: ModelConfig | None) -> dict[str, Any]:
    """Return the options of a system, without its name if the model to start with has its components. Raises ValueError
    and TypeError."""
    names, options = chosen_of(model, [ENCODER_COMPONENTS, DECODER_COMPONENTS], "model")
    if start and {*names} <= {*start.source.components, *start.target.components}:
        return options
    return {"model": "+".join(names), **options}


def files_of(pairs: Pairs, name: str) -> PairFiles:
    """Return the files that the pairs are read from. name: of pairs without a file, in messages."""
    if files := files_in(pairs):
        return PairFiles(files[0], files[1] if len(files) > 1 else None)
    return PairFiles(name, given=partial(lines_of_pairs, pairs, name))  # type: ignore[arg-type]
