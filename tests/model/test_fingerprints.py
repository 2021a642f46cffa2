"""Numbers of every system after 20 updates, so that a change of the code that changes a result does not go unnoticed.

`python -m tests.model.test_fingerprints` writes them again, after a change that is meant to change them.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synmt.search.beam import beam_search
from synmt.search.config import SearchConfig
from tests import tiny

FILE = Path(__file__).with_name("fingerprints.json")
CPU = torch.device("cpu")
SYSTEMS = {(name, "sequence"): 0.0 for name in tiny.SYSTEMS}
SYSTEMS |= {("sequence", name): 0.0 for name in tiny.TARGET_SYSTEMS}
# Dropout of attention draws one number per weight, so its numbers depend on how heads are computed.
RATES = {**SYSTEMS, ("sequence", "sequence"): 0.1, ("mask", "sequence"): 0.1}


def numbers(source: str, target: str) -> list[float]:
    """Return losses, the norm of all parameters, the log-probabilities of given targets and those of found ones."""
    data, vocabulary = tiny.corpus(source, target)
    rate = RATES[source, target]
    config = replace(tiny.CONFIG, dropout=0.1, activation_dropout=0.1, attention_dropout=rate)
    model = tiny.model(source, vocabulary, config, target=target).train()
    # With a smaller ε, Adam would follow the rounding errors of gradients that are zero in theory.
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-4)
    found = []
    for update in range(20):
        torch.manual_seed(update)
        batch = data.batch([0, 1, 2, 3], CPU, torch.Generator().manual_seed(update))
        loss = model.loss(*batch, 0.1, 0.1)
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        if update in (0, 19):
            found += [float(loss.translation.detach()), float(loss.total.detach())]
    norms = [float(parameter.detach().double().square().sum()) for parameter in model.parameters()]
    found.append(sum(norms) ** 0.5)
    model.eval()
    with torch.inference_mode():
        source_batch, target_batch = data.batch([0, 1, 2, 3], CPU)
        found.append(-float(model.loss(source_batch, target_batch).translation))
    output = tiny.TARGET_SYSTEMS[target].output(vocabulary)
    best = beam_search(model, source_batch, SearchConfig(beam=2, max_length_offset=2), output)
    return [*found, *(each[0].log_probability for each in best)]


@pytest.mark.parametrize(("source", "target"), SYSTEMS)
def test_every_system_computes_the_same_numbers_as_before(source: str, target: str) -> None:
    expected = json.loads(FILE.read_text())[f"{source} → {target}"]
    assert numbers(source, target) == pytest.approx(expected, rel=1e-5, abs=1e-5)


if __name__ == "__main__":
    every = {f"{source} → {target}": numbers(source, target) for source, target in SYSTEMS}
    rows = (f"  {json.dumps(name, ensure_ascii=False)}: {json.dumps(row)}" for name, row in every.items())
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
