"""Search by CTranslate2 in a model that `synmt export` has written."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from synmt.components.output import Hypothesis
from synmt.model.config import ModelConfig
from synmt.model.export import POSITIONS, check_exported
from synmt.model.files import EXPORTED_FOLDER
from synmt.model.folder import ModelFolder
from synmt.model.source import SourceFeatures
from synmt.search.config import SearchConfig
from synmt.streams import BadInput


class ExportedModel:
    """A model in CTranslate2, which computes in the precision of the export. Raises BadInput."""

    def __init__(self, folder: ModelFolder[ModelConfig], device: torch.device) -> None:
        check_exported(folder)
        from ctranslate2 import Translator

        self.path, self.ids, self.device = folder.path, folder.vocabulary.ids, device
        self.most = POSITIONS if folder.config.network.positions == "sinusoidal" else sys.maxsize
        place = {"device": device.type, "device_index": device.index or 0}
        with self._naming():
            self.translator = Translator(
                str(folder.path / EXPORTED_FOLDER), **place, intra_threads=torch.get_num_threads()
            )

    def search(self, sentences: Sequence[SourceFeatures], config: SearchConfig) -> list[list[Hypothesis]]:
        """Return the hypotheses of each sentence, best first, as `beam_search`; none if numbers overflow.

        CTranslate2 has one limit of length per call. All sentences first get the largest limit, and those that reach
        their own are searched again, since the limit ends a search.
        """
        limits = [(config.shortest(each.words), min(config.longest(each.words), self.most)) for each in sentences]
        largest = max(longest for _, longest in limits)
        found: dict[int, list[Hypothesis]] = {}
        for is_first in (True, False):
            groups: dict[tuple[int, int], list[int]] = {}
            for place, (shortest, longest) in enumerate(limits):
                if place not in found:
                    groups.setdefault((shortest, largest if is_first else longest), []).append(place)
            for (shortest, limit), places in groups.items():
                results = self._translated([sentences[place].tokens for place in places], shortest, limit, config)
                for place, result in zip(places, results, strict=True):
                    _, longest = limits[place]
                    if longest == limit or all(len(tokens) + 1 < longest for tokens in result.hypotheses):
                        found[place] = self._hypotheses(result, longest, config)
        return [found[place] for place in range(len(sentences))]

    def _translated(self, sources: list[list[str]], shortest: int, longest: int, config: SearchConfig) -> list[Any]:
        """Return what CTranslate2 finds for each source, ranked by the sums of log-probabilities."""
        with self._naming():
            results: list[Any] = self.translator.translate_batch(
                sources,
                beam_size=config.beam,
                num_hypotheses=config.beam,
                length_penalty=1e-6,  # a large one drops short hypotheses, and 0 searches on
                max_input_length=0,
                min_decoding_length=shortest,
                max_decoding_length=longest,
                no_repeat_ngram_size=config.no_repeat,
                disable_unk=True,
                return_scores=True,
            )
        return results

    def _hypotheses(self, result: Any, longest: int, config: SearchConfig) -> list[Hypothesis]:
        """Return the hypotheses of a sentence, best first. A hypothesis at the limit has no end of sentence."""
        found = []
        for tokens, log_probability in zip(result.hypotheses, result.scores, strict=True):
            if math.isfinite(log_probability):
                penalty = config.penalty(min(len(tokens) + 1, longest))
                ids = [self.ids[token] for token in tokens]
                found.append(Hypothesis(ids, log_probability, log_probability / penalty))
        return sorted(found, key=lambda hypothesis: -hypothesis.score)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn errors of CTranslate2 into a BadInput that names the model."""
        try:
            yield
        except (RuntimeError, ValueError) as error:
            raise BadInput(f"CTranslate2: {(str(error).splitlines() or ['?'])[0]}", str(self.path)) from None
