"""Tokens as labels: on one line, short, and free of what a picture or a page cannot hold."""

import re

LONGEST = 24
# Control characters and noncharacters, which XML forbids, and what turns the direction of the text around it.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def label(token: str, longest: int = LONGEST) -> str:
    """The token without the space that marks structure, its end cut off where it is long."""
    text = _UNFIT.sub("\ufffd", token.strip(" "))
    return text if len(text) <= longest else text[: longest - 1] + "…"
