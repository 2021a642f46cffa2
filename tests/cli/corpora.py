"""A few sentence pairs, as parse records and raw text."""

from pathlib import Path

TREES = [
    "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",
    "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))",
    "(S (NP (NP (DT The) (NN dog)) (PP (IN of) (NP (PRP$ my) (NN father)))) (VP (VBZ barks)) (. .))",
    "(S (NP (PRP She)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. !))",
]
TARGETS = ["Er ist mein Vater.", "Der Hund schläft.", "Der Hund meines Vaters bellt.", "Sie sieht den Hund!"]
RECORDS = [f'{{"tree": "{tree}"}}' for tree in TREES]


def write_pairs(folder: Path, copies: int = 5) -> tuple[Path, Path]:
    """The pairs some times over: train.jsonl with records, and train.de with text."""
    source, target = folder / "train.jsonl", folder / "train.de"
    source.write_text("".join(f"{record}\n" for record in RECORDS * copies), encoding="utf-8")
    target.write_text("".join(f"{text}\n" for text in TARGETS * copies), encoding="utf-8")
    return source, target
