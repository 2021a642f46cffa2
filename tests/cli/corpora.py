"""A few sentence pairs, as parse records and raw text."""

from pathlib import Path

import msgspec

TREES = [
    "(S (NP (PRP He)) (VP (VBZ is) (NP (PRP$ my) (NN father))) (. .))",
    "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))",
    "(S (NP (NP (DT The) (NN dog)) (PP (IN of) (NP (PRP$ my) (NN father)))) (VP (VBZ barks)) (. .))",
    "(S (NP (PRP She)) (VP (VBZ sees) (NP (DT the) (NN dog))) (. !))",
]
TARGETS = ["Er ist mein Vater.", "Der Hund schläft.", "Der Hund meines Vaters bellt.", "Sie sieht den Hund!"]
TARGET_HEADS = [[4, 4, 4, 0, 4], [2, 3, 0, 3], [2, 5, 4, 2, 0, 5], [2, 0, 4, 2, 2]]
TARGET_WORDS = ["Er ist mein Vater .", "Der Hund schläft .", "Der Hund meines Vaters bellt .", "Sie sieht den Hund !"]
RECORDS = [f'{{"tree": "{tree}"}}' for tree in TREES]


def write_target_trees(folder: Path, copies: int = 5) -> Path:
    """Write the targets as records of words with trees: train.de.jsonl."""
    lines = [
        msgspec.json.encode(
            {
                "text": text,
                "tokens": words.split(),
                "heads": heads,
                "deprels": [f"rel{(head + number) % 3}" if head else "root" for number, head in enumerate(heads)],
            }
        ).decode()
        for text, words, heads in zip(TARGETS, TARGET_WORDS, TARGET_HEADS, strict=True)
    ]
    path = folder / "train.de.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines * copies), encoding="utf-8")
    return path


def write_pairs(folder: Path, copies: int = 5) -> tuple[Path, Path]:
    """Write the pairs several times over: records in train.jsonl, text in train.de."""
    source, target = folder / "train.jsonl", folder / "train.de"
    source.write_text("".join(f"{record}\n" for record in RECORDS * copies), encoding="utf-8")
    target.write_text("".join(f"{text}\n" for text in TARGETS * copies), encoding="utf-8")
    return source, target
