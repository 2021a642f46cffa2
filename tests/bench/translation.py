"""Translation speed: batched beam search of `sequence` compared with a bare loop and other programs, and other systems
compared with `sequence`.

Models are random and forced to write as many words as the source has, so all searches do the same amount of work.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch

from synmt.device import autocast
from synmt.model.export import write_network
from synmt.model.target import target_side
from synmt.model.translation import TranslationModel
from synmt.nn.config import TransformerConfig
from synmt.nn.quantization import quantize
from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from synmt.text.vocabulary import END
from tests.bench.bare import BareSearch, BareTransformer
from tests.bench.corpus import MEAN_LENGTH, VOCABULARY, random_sentences
from tests.bench.pairs import Comparison, clock_of, compare
from tests.bench.training import SYSTEMS, Sizes, encoded

if TYPE_CHECKING:
    from transformers import MarianConfig

BEAM = 5


class Searches:
    """Searches for translations of the same sentences, which have equal lengths, on one device."""

    def __init__(self, device: torch.device, length: int = MEAN_LENGTH) -> None:
        self.device, self.length = device, length
        self.count = 40 if device.type == "cpu" else 400
        self.sentences = random_sentences(self.count, length=length)
        self.network = Sizes.of(device).network

    def model(self, system: str) -> TranslationModel:
        torch.manual_seed(0)
        model = TranslationModel(self.network, SYSTEMS[system], target_side({"sequence": {}}), VOCABULARY)
        model.network.output_bias.data[END] = -1e4
        return model.to(self.device).eval()

    def ours(self, system: str, batch: int = 0, int8: bool = False) -> Callable[[], int]:
        """Return a function that translates all sentences at once, or `batch` at a time."""
        model = self.model(system)
        if int8:
            quantize(model.network)
        sources = encoded(SYSTEMS[system], self.sentences).sources
        config = SearchConfig(BEAM, max_length_offset=0)

        def work() -> int:
            done = 0
            for indices in batches(range(self.count), batch or self.count):
                source = sources.batch(indices, VOCABULARY.padding, self.device)
                with autocast(self.device):
                    done += len(beam_search(model, source, config))
            return done

        return work

    def bare(self) -> Callable[[], int]:
        torch.manual_seed(0)
        model = BareTransformer(self.network, len(VOCABULARY), len(VOCABULARY.target), VOCABULARY.padding)
        model.output_bias.data[END] = -1e4
        search = BareSearch(model.to(self.device).eval(), BEAM)
        plain = encoded(SYSTEMS["sequence"], self.sentences).sources
        ids = plain.batch(range(self.count), VOCABULARY.padding, self.device).ids

        def work() -> int:
            with autocast(self.device):
                return len(search(ids, VOCABULARY.begin, self.length))

        return work

    def ctranslate2s(self, int8: bool = False) -> Callable[[], int]:
        """Return a function that translates with the model of `ours`, exported to CTranslate2."""
        import ctranslate2

        plain = encoded(SYSTEMS["sequence"], self.sentences).sources
        entries = [*VOCABULARY.target, *VOCABULARY.source]
        tokens = [[entries[number] for number in row["ids"]] for row in plain.rows]
        with TemporaryDirectory() as folder:
            write_network(self.model("sequence").network, VOCABULARY, Path(folder))
            kind = "int8" if int8 else "float32"
            translator = ctranslate2.Translator(folder, compute_type=kind, intra_threads=1)

        def work() -> int:
            length = {"min_decoding_length": self.length, "max_decoding_length": self.length}
            return len(translator.translate_batch(tokens, beam_size=BEAM, disable_unk=True, **length))

        return work

    def hugging_faces(self) -> Callable[[], int]:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from transformers import MarianMTModel

        torch.manual_seed(0)
        model = MarianMTModel(marian(self.network)).eval()
        model.to(device=self.device)
        plain = encoded(SYSTEMS["sequence"], self.sentences).sources
        ids = plain.batch(range(self.count), VOCABULARY.padding, self.device).ids
        seen = torch.ones_like(ids)

        def work() -> int:
            length = {"min_new_tokens": MEAN_LENGTH, "max_new_tokens": MEAN_LENGTH}
            with torch.inference_mode(), autocast(self.device):
                return len(model.generate(input_ids=ids, attention_mask=seen, num_beams=BEAM, **length))

        return work


def batches(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def marian(network: TransformerConfig) -> "MarianConfig":
    """Return a Marian config with the same sizes."""
    from transformers import MarianConfig

    return MarianConfig(
        vocab_size=len(VOCABULARY),
        d_model=network.width,
        encoder_layers=network.encoder_layers,
        decoder_layers=network.decoder_layers,
        encoder_attention_heads=network.heads,
        decoder_attention_heads=network.heads,
        encoder_ffn_dim=network.feedforward,
        decoder_ffn_dim=network.feedforward,
        max_position_embeddings=4 * MEAN_LENGTH,
        activation_function="relu",
        pad_token_id=VOCABULARY.padding,
        decoder_start_token_id=VOCABULARY.begin,
        eos_token_id=END,
        forced_eos_token_id=None,
    )


def compare_translation(rounds: int, device: torch.device) -> Iterator[Comparison]:
    searches, clock = Searches(device), clock_of(device)

    def against(name: str, one: Callable[[], int], other: Callable[[], int]) -> Comparison:
        return compare(f"translate: {name}", "sentences", one, other, rounds, clock=clock)

    yield against("sequence / bare loop", searches.ours("sequence"), searches.bare())
    if device.type == "cpu":
        yield against("sequence in int8 / bare loop", searches.ours("sequence", int8=True), searches.bare())
        if find_spec("ctranslate2"):
            yield against("CTranslate2 / bare loop", searches.ctranslate2s(), searches.bare())
            yield against("CTranslate2 in int8 / bare loop", searches.ctranslate2s(int8=True), searches.bare())
    long = Searches(device, 4 * MEAN_LENGTH)
    yield against(f"sequence / bare loop, {long.length} words", long.ours("sequence"), long.bare())
    yield against("sequence / Hugging Face's Marian", searches.ours("sequence"), searches.hugging_faces())
    yield against("sequence / one sentence at a time", searches.ours("sequence"), searches.ours("sequence", 1))
    for system in SYSTEMS:
        if system != "sequence":
            yield against(f"{system} / sequence", searches.ours(system), searches.ours("sequence"))
