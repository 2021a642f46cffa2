"""`bin/bench [--json] [--rounds N]`: one table of ratios, each pair timed in turn on one thread."""

from dataclasses import asdict
from itertools import chain

import click
import orjson
import torch

from tests.bench.parsing import compare_parsing
from tests.bench.significance import compare_significance
from tests.bench.targets import compare_targets
from tests.bench.training import compare_training
from tests.bench.trees import compare_relations


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=9, show_default=True, help="Timed pairs.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
def bench(rounds: int, as_json: bool) -> None:
    """Rates are units a second of processor time (medians); ratios are of pairs run one after the other."""
    torch.set_num_threads(1)
    parts = (compare_relations, compare_parsing, compare_significance, compare_training, compare_targets)
    for comparison in chain.from_iterable(part(rounds) for part in parts):
        if as_json:
            print(orjson.dumps(asdict(comparison)).decode())
        else:
            print(
                f"{comparison.name:<42}{comparison.rate:>12,.0f} /{comparison.other_rate:>9,.0f} "
                f"{comparison.unit}   ratio {comparison.ratio:.3f} "
                f"({comparison.lowest:.3f} to {comparison.highest:.3f})"
            )


bench()
