"""Word alignments of a sentence pair, one matrix per aligner: figures 5 and 6 of Chen, Sun & Liu (ACL 2021).

Rows are target words and columns source words, so a row shows the attention of a target word; frames are links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from synmt.inspection.matrix import Legend, Matrix, short_names
from synmt.streams import BadInput, Line, counted, note, read_lines, readable
from synmt.text.graphemes import label
from synmt.text.links import ROUNDING, Link, LinkError, check_inside, check_words, open_links, read_json, read_scores
from synmt.text.svg import LONGEST_WORD, Svg, places, width_of


@dataclass(frozen=True, slots=True)
class Alignment:
    """The words of both sides, links between them, and scores of all pairs of words, 0 to 1, [source, target]."""

    source: list[str]
    target: list[str]
    links: list[Link]
    scores: npt.NDArray[np.float32]

    @property
    def confidence(self) -> float:
        """Return the mean of the best scores of all words on both sides."""
        best = self.scores.max(axis=0).sum() + self.scores.max(axis=1).sum()
        return float(best / (len(self.source) + len(self.target)))


def nth_links(path: str, number: int) -> Line:
    """Return the links of pair `number`, from 1, of a file in any format, as a line that counts words from 0.

    Raises BadInput, also if the file is shorter.
    """
    links = open_links(read_lines([path]))
    count, line = 0, links.rest
    for count, each in enumerate(links, 1):
        if count == number:
            line = each
            break
    if line is None:
        raise BadInput(f"has no line {number}, only {counted(count, 'line')}", readable(path))
    if not links.base:
        return line
    if warning := links.warning(readable(path)):
        note(warning)
    with line.naming():
        scores = read_scores(line.text, links.base)[1]
    return replace(line, text=" ".join(f"{i}-{j}:{score:.9f}" for (i, j), score in scores.items()))


def read_bitext(lines: Iterable[Line]) -> Iterator[tuple[int, Alignment]]:
    """Yield the number and the alignment of each pair with words, in JSON or A3, that is not empty.

    Raises BadInput, also if all lines are empty.
    """
    number = 0
    for count, line in enumerate(open_links(lines), 1):
        if line.text.strip() not in ("", "{}"):
            number = count
            yield number, read_alignments([line])[0]
    if not number:
        raise BadInput("no sentence pairs")


def read_alignments(lines: Sequence[Line]) -> list[Alignment]:
    """Read alignments of one pair, one line per aligner: JSON as `synmt align` writes it, or bare links, `0-0 1-2`.

    Bare links are between the words of the first line with words. Raises BadInput, also for lines with other words.
    """
    first = next((line for line in lines if _has_words(line)), None)
    if first is None:
        raise lines[0].error('no file has words: at least one must have "source" and "target" in JSON')
    words = _alignment(first, [], [])
    found = [_alignment(line, words.source, words.target) for line in lines]
    for line, alignment in zip(lines, found, strict=True):
        try:
            check_words({"source": alignment.source, "target": alignment.target}, words.source, words.target)
        except LinkError as error:
            raise line.error(f"{error} at {first.source}:{first.number}") from None
    return found


def _has_words(line: Line) -> bool:
    with line.naming():
        return line.text.startswith("{") and not {"source", "target"}.isdisjoint(read_json(line.text, needed=False)[0])


def _alignment(line: Line, source: list[str], target: list[str]) -> Alignment:
    """Return the alignment of one line. source, target: the words to use if the line has only links."""
    try:
        if _has_words(line):
            return _from_json(line.text)
        return _from_links(source, target, read_scores(line.text)[1])
    except (ValueError, TypeError) as error:
        raise line.error(error) from None


def _from_json(text: str) -> Alignment:
    """Return an alignment with the `scores` of all pairs of words, [source][target]; if there are none, with the scores
    of the links, `[i, j, score]`."""
    fields, of_links = read_json(text, needed=False)
    sides = [fields.get(side) or [] for side in ("source", "target")]
    if not all(isinstance(side, list) for side in sides):
        raise ValueError("source and target must be lists of words")
    source, target = (list(map(str, side)) for side in sides)
    if not source or not target:
        raise ValueError("no words in source or target")
    alignment = _from_links(source, target, of_links)
    if "scores" not in fields:
        return alignment
    scores = np.array(fields["scores"])
    if scores.dtype.kind not in "fiu":
        raise ValueError("scores are not all numbers")
    if scores.shape != alignment.scores.shape:
        raise ValueError(f"scores are {list(scores.shape)} for {len(source)} source and {len(target)} target words")
    if not ((scores > -ROUNDING) & (scores < 1 + ROUNDING)).all():
        raise ValueError("a score must be between 0 and 1")
    return Alignment(source, target, alignment.links, scores.astype(np.float32))


def _from_links(source: list[str], target: list[str], of_links: dict[Link, float]) -> Alignment:
    check_inside(of_links.keys(), len(source), len(target))
    scores = np.zeros((len(source), len(target)))
    for link, score in of_links.items():
        scores[link] = score
    return Alignment(source, target, list(of_links), scores.astype(np.float32))


def alignment_matrices(alignments: Sequence[Alignment], files: Sequence[str]) -> tuple[list[Matrix], Legend]:
    """Return one matrix per file."""
    matrices = [
        Matrix(name, each.target, each.source, each.scores.T, [(j, i) for i, j in each.links])
        for name, each in zip(short_names(list(map(readable, files))), alignments, strict=True)
    ]
    return matrices, Legend("target", "source", "score (frames: links)", "Blues", 0.0, 1.0)


def links_picture(source: Sequence[str], target: Sequence[str], links: Mapping[Link, float]) -> str:
    """Return the words of a pair as SVG, source above target, with a line for each link: the fainter, the less sure."""
    svg, rows = Svg(), list[list[float]]()
    for words, y in ((source, 20), (target, 84)):
        middles, end = places(words, [width_of(label(word, LONGEST_WORD)) for word in words])
        rows.append(middles)
        svg.grow(end, y + 14)
        for middle, word in zip(middles, words, strict=True):
            svg.text(middle, y, word)
    for (i, j), score in links.items():
        svg.path(f"M{rows[0][i]:.1f} 26L{rows[1][j]:.1f} 70", "link", 0.2 + 0.8 * score)
    return str(svg)
