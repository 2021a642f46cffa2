"""Links two files of tokens by the eflomal of SIL's thot (`pip install sil-thot`), and writes them to standard output.

python tests/bench/thot_links.py SOURCE TARGET
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any


def links(source: str, target: str) -> Iterator[str]:
    """Yield the links of each pair of lines."""
    thot: Any = import_module("thot.alignment")
    models = []
    for files in ((source, target), (target, source)):
        model = thot.EflomalAlignmentModel()
        model.emit_training_alignments = True
        model.read_sentence_pairs(*files)
        model.start_training()
        for _ in range(model.scheduled_iterations):
            model.train()
        model.end_training()
        models.append(model)
    both = thot.SymmetrizedAlignmentModel(*models)
    both.heuristic = thot.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    for number in range(both.num_sentence_pairs):
        _, cells = both.get_training_alignment(number)
        rows, columns = range(cells.row_length), range(cells.column_length)
        yield " ".join(f"{i}-{j}" for i in rows for j in columns if cells[i, j])


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in links(*sys.argv[1:]))
