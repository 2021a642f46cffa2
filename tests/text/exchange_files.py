"""Random TMX and XLIFF files, built from parts whose bytes are known."""

import random
from dataclasses import dataclass, field

SOURCES = [
    "Give",
    " ",
    "the",
    "<g id='1'>old</g>",
    "&amp;",
    'dog<x id="2"/>',
    "\n   ",
    "<![CDATA[<b> & ]]>",
    "é",
    "猫",
    "&#x41;",
]
SOURCES += ['<bpt i="1">&lt;b></bpt>up<ept i="1">&lt;/b></ept>', "<!-- seg <target> -->", "<ph id='3' equiv='>'/>"]
TARGETS = ["Gib", " ", "dem", "Hund", "&lt;", "ü", "犬", "<![CDATA[]]>", "\n"]
BETWEEN = ["", " ", "\n", "\n  ", "<!-- <tu><target>no</target></tu> -->", "<?pi <seg>?>"]
NEW = ["neu", '<x id="2"/>', "&amp;", "ß", "猫", ""]


@dataclass
class Made:
    """A file. parts: its text, in which the targets are at these numbers; missing: numbers of targets that are not
    there yet, and what to write around them."""

    form: str
    encoding: str
    parts: list[str] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    around: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    def add(self, *parts: str) -> int:
        self.parts += parts
        return len(self.parts) - 1

    def written(self, targets: dict[int, str] | None = None) -> bytes:
        """Return the bytes, with new targets by their numbers."""
        parts = list(self.parts)
        for number, new in (targets or {}).items():
            place = self.targets[number]
            before, _, after = self.around.get(number, ("", "", ""))
            parts[place] = f"{before}{new}{after}"
        text = "".join(parts)
        if self.encoding == "utf-16":
            return b"\xff\xfe" + text.encode("utf-16-le")
        if self.encoding == "utf-8-sig":
            return b"\xef\xbb\xbf" + text.encode()
        return text.encode(self.encoding, "xmlcharrefreplace")


def made(source: random.Random) -> Made:
    """Return a random file of any format."""
    form = source.choice(["tmx", "xliff1", "xliff2"])
    encoding = source.choice(["utf-8", "utf-8-sig", "utf-16", "utf-16", "iso-8859-1"])
    each = Made(form, encoding)
    named = {"utf-8": " encoding='UTF-8'", "utf-16": ' encoding="utf-16"', "iso-8859-1": ' encoding="iso-8859-1"'}
    each.add(f'<?xml version="1.0"{named.get(encoding, "")}?>')

    def between() -> None:
        each.add(source.choice(BETWEEN).replace("\n", source.choice(["\n", "\r\n"])))

    def texts(known: list[str]) -> str:
        chosen = "".join(source.choices(known, k=source.randint(0, 5)))
        return chosen.encode(encoding, "ignore").decode(encoding) if encoding == "iso-8859-1" else chosen

    prefix = source.choice(["", "", "q:"]) if form != "tmx" else ""
    if form == "tmx":
        each.add('\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="EN-us"/><body>')
    elif form == "xliff1":
        each.add(f'<{prefix}xliff version="1.2" xmlns:q="u"><{prefix}file source-language="en" target-language="de">')
    else:
        each.add(f'<{prefix}xliff version="2.0" srcLang="en" trgLang="de" xmlns:q="u"><{prefix}file id="f">')
    for _ in range(source.randint(0, 4)):
        between()
        content, own = texts(SOURCES), texts(TARGETS)
        kind = source.choice(["full", "full", "empty", "tag", "missing"])
        tag = f"{prefix}target" if form != "tmx" else "seg"
        if form == "tmx":
            each.add("<tu>", source.choice(["", "<note>n</note>"]), source.choice(["", " ", "\n "]))
            each.add(f"<tuv xml:lang='en-US'><seg>{content}</seg></tuv>")
            space = each.parts[-2]
            opening = '<tuv xml:lang="de">'
            # a TMX file with no German at all has no languages to choose
            kind = "full" if not each.targets else kind
        else:
            unit = "trans-unit" if form == "xliff1" else "segment"
            each.add(f'<{prefix}unit id="1">' if form == "xliff2" else "")
            each.add(f'<{prefix}{unit} a=">">', source.choice(["", "\n  ", "\t"]))
            each.add(f"<{prefix}source>{content}</{prefix}source >")
            space, opening = each.parts[-2], ""
        if kind == "missing":
            each.targets.append(each.add(""))
            closing = "</tuv>" if form == "tmx" else ""
            each.around[len(each.targets) - 1] = (f"{space}{opening}<{tag}>", "", f"</{tag}>{closing}")
            if form == "tmx":
                each.around[len(each.targets) - 1] = (f"{space}{opening}<seg>", "", "</seg></tuv>")
        else:
            between()
            each.add(opening)
            if kind == "tag":
                each.targets.append(each.add(f'<{tag} a="/" />'))
                each.around[len(each.targets) - 1] = (f'<{tag} a="/">', "", f"</{tag}>")
            else:
                each.add(f"<{tag} b='>'>")
                each.targets.append(each.add(own if kind == "full" else ""))
                each.add(f"</{tag}>")
            each.add("</tuv>" if form == "tmx" else "")
        if form == "xliff1":
            each.add(
                f"<{prefix}alt-trans><{prefix}source>s</{prefix}source><{prefix}target>t</{prefix}target></{prefix}alt-trans>"
            )
        each.sources.append(content)
        between()
        each.add(
            {"tmx": "</tu>", "xliff1": f"</{prefix}trans-unit>", "xliff2": f"</{prefix}segment></{prefix}unit>"}[form]
        )
    between()
    each.add("</body></tmx>" if form == "tmx" else f"</{prefix}file></{prefix}xliff>")
    return each
