"""A pretrained encoder as an aligner. Its folder holds the options alone; the encoder stays where it is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from synmt.alignment.aligner import FitConfig, KnownWords, Needs
from synmt.alignment.config import Heuristic
from synmt.alignment.embeddings.encoder import Encoder, States
from synmt.alignment.embeddings.idea import NAME, Embeddings
from synmt.alignment.embeddings.rules import linked
from synmt.alignment.statistical import NO_NEEDS, new_folder, read_folder
from synmt.device import local_device
from synmt.model.files import CONFIG_FILE, naming, read_config
from synmt.model.records import SentencePair
from synmt.text.links import DirectedLinks
from synmt.text.tokenization import TokenizerName


@dataclass
class EmbeddingsAligner:
    options: Embeddings
    encoder: Encoder
    languages: tuple[str, str] | None
    tokenizer: TokenizerName | None
    words: KnownWords
    heuristic: Heuristic = "intersection"
    needs: Needs = NO_NEEDS

    def align(self, pairs: Sequence[SentencePair]) -> list[DirectedLinks]:
        """Return the links, the same for both directions."""
        sources = self.encoder.states([pair.source.tokens for pair in pairs])
        targets = self.encoder.states([pair.target.tokens for pair in pairs])
        return [self._links(*states) for states in zip(sources, targets, strict=True)]

    def _links(self, source: States, target: States) -> DirectedLinks:
        if not len(source.words) or not len(target.words):
            return DirectedLinks(frozenset(), frozenset())
        cells = linked(self.options, source.values, target.values).nonzero()
        links = frozenset((source.words[j], target.words[i]) for j, i in zip(*map(list, cells), strict=True))
        return DirectedLinks(links, links)


def fit_folder(options: Embeddings, config: FitConfig) -> EmbeddingsAligner:
    """Keep the options; there is nothing to fit. Raises BadInput."""
    encoder = Encoder(options.encoder, options.layer, local_device(config.device), options.trust_pickle)
    with new_folder(config, options=asdict(replace(options, trust_pickle=False))):
        pass
    return EmbeddingsAligner(options, encoder, *read_folder(NAME, config.out))


def open_folder(folder: Path, device: str) -> EmbeddingsAligner:
    """Open the aligner of a folder, which cannot say that a pickle is to be trusted. Raises BadInput."""
    text = read_folder(NAME, folder)
    fields = read_config(folder)
    with naming(folder / CONFIG_FILE):
        options = replace(Embeddings(**fields["options"]), trust_pickle=False)
    return EmbeddingsAligner(options, Encoder(options.encoder, options.layer, local_device(device)), *text)
