"""The models that are part of synmt: one of a kind for each of a few languages."""

from pathlib import Path

from synmt.parsers.parser import ModelError

FOLDER = Path(__file__).parent / "models"
CONSTITUENCY = "constituency.safetensors"
DEPENDENCY = "dependency.udpipe"
OTHERS = {  # what takes the place of an embedded model
    CONSTITUENCY: "synmt parse --model NAME takes those of benepar, such as benepar_fr",
    DEPENDENCY: "synmt parse --parser udpipe --model FILE takes those of https://hdl.handle.net/11234/1-3131",
}


def embedded_model(kind: str, language: str = "en") -> Path:
    """Return the path of the model of a kind (CONSTITUENCY or DEPENDENCY) for a language (ISO 639-1).

    Raises ModelError where there is none.
    """
    languages = sorted(path.name.split("-")[0] for path in FOLDER.glob(f"*-{kind}"))
    if language not in languages:
        name = kind.split(".")[0]
        known = ", ".join(languages)
        raise ModelError(f"no embedded {name} model for {language!r}, only for {known}; {OTHERS[kind]}")
    return FOLDER / f"{language}-{kind}"
