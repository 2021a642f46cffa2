"""Opening a parser by name."""

from synmt.parsers.embedded import CONSTITUENCY, DEPENDENCY, embedded_model
from synmt.parsers.parser import ModelError, Parser, ParserChoice


def open_parser(choice: ParserChoice) -> Parser:
    """The parser, or both as one. Raises ModelError."""
    if choice.name == "benepar":
        from synmt.parsers.benepar_parser import BeneparParser

        return BeneparParser(_only_model(choice, CONSTITUENCY, choice.models), choice.device, choice.trust_pickle)
    if choice.name == "udpipe":
        from synmt.parsers.udpipe_parser import UDPipeParser

        return UDPipeParser(_only_model(choice, DEPENDENCY, choice.models))
    from synmt.parsers.combined_parser import CombinedParser

    of_udpipe = tuple(model for model in choice.models if model.endswith(".udpipe"))
    of_benepar = tuple(model for model in choice.models if model not in of_udpipe)
    benepar_model = _only_model(choice, CONSTITUENCY, of_benepar)
    udpipe_model = _only_model(choice, DEPENDENCY, of_udpipe)
    return CombinedParser(benepar_model, udpipe_model, choice.device, choice.trust_pickle)


def _only_model(choice: ParserChoice, kind: str, models: tuple[str, ...]) -> str:
    """The model given for a parser, or the embedded one of its kind."""
    if len(models) > 1:
        raise ModelError(f"{len(models)} models ({', '.join(models)}) for one parser of --parser {choice.name}")
    return models[0] if models else str(embedded_model(kind, choice.language))
