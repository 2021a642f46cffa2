"""Opening a parser by name."""

from synmt.parsers.parser import ModelError, Parser, ParserChoice


def open_parser(choice: ParserChoice) -> Parser:
    """The parser, or both as one. Raises ModelError."""
    wants_benepar, wants_udpipe = "benepar" in choice.name, "udpipe" in choice.name
    udpipe_models = [model for model in choice.models if model.endswith(".udpipe") or not wants_benepar]
    benepar_models = [model for model in choice.models if model not in udpipe_models]
    for name, models, wanted in (
        ("benepar", benepar_models, wants_benepar),
        ("UDPipe", udpipe_models, wants_udpipe),
    ):
        if len(models) > wanted:
            raise ModelError(f"{len(models)} {name} models ({', '.join(models)}) for --parser {choice.name}")
    benepar_model = benepar_models[0] if benepar_models else None
    udpipe_model = udpipe_models[0] if udpipe_models else None
    if not wants_udpipe:
        from synmt.parsers.benepar_parser import BeneparParser

        return BeneparParser(benepar_model, choice.device)
    if not wants_benepar:
        from synmt.parsers.udpipe_parser import UDPipeParser

        return UDPipeParser(udpipe_model)
    from synmt.parsers.combined_parser import CombinedParser

    return CombinedParser(benepar_model, udpipe_model, choice.device)
