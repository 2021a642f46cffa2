"""`hmm` and `neural-hmm` at work together. The folder holds theirs, under their names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.extraction import SoftLinks, Weights, of_words
from synmt.alignment.hmm.aligner import HmmAligner
from synmt.alignment.hmm.aligner import open_folder as open_hmm
from synmt.alignment.hmms.idea import HMM, NAME, NEURAL, methods, split
from synmt.alignment.neural_hmm.aligner import NeuralHmmAligner
from synmt.alignment.statistical import read_folder, write_folder
from synmt.device import local_device
from synmt.model.files import CONFIG_FILE, check_inside, check_new, locked
from synmt.model.records import SentencePair
from synmt.text.tokenization import TokenizerName


@dataclass
class HmmsAligner:
    hmm: HmmAligner
    neural: NeuralHmmAligner
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    needs: Needs
    heuristic: Heuristic = "mean"

    def align(self, pairs: Sequence[SentencePair]) -> list[SoftLinks]:
        """Return the mean of both γ of each direction, between words."""
        return list(map(_mean, pairs, self.hmm.align(pairs), self.neural.align(pairs)))


def _mean(pair: SentencePair, *given: SoftLinks) -> SoftLinks:
    def of_both(direction: str) -> Weights:
        found = [of_words(getattr(each, direction), each.source_words, each.target_words) for each in given]
        return (found[0] + found[1]) / np.float32(2)

    return SoftLinks(
        of_both("forward"), of_both("backward"), range(len(pair.source.tokens)), range(len(pair.target.tokens))
    )


def fit_folder(config: FitConfig) -> HmmsAligner:
    """Fit both to a bitext, and keep them; what an earlier run has done stays. Raises BadInput."""
    out = config.out
    parts = zip((HMM, NEURAL), methods(config.settings), split(config.settings), strict=True)
    check_new(out, config.resume, begun=any((out / name).exists() for name in (CONFIG_FILE, HMM, NEURAL)))
    with locked(out):
        for name, method, settings in parts:
            begun = (out / name / CONFIG_FILE).exists()
            if name == NEURAL or not begun:
                method.fit(replace(config, method=name, settings=settings, out=out / name, resume=begun))
        write_folder(config)
    return open_folder(out, config.device)


def open_folder(folder: Path, device: str) -> HmmsAligner:
    """Open the models of a folder. Raises BadInput."""
    text = read_folder(NAME, folder)
    for name in (HMM, NEURAL):
        check_inside(folder, folder / name / CONFIG_FILE)  # and not inside of its own folder alone
    neural = NeuralHmmAligner.open(folder / NEURAL, local_device(device))
    hmm = open_hmm(folder / HMM)
    return HmmsAligner(hmm, neural, *text, hmm.needs)
