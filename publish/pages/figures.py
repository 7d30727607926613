"""The pictures of a chapter as its page shows them: numbered, with a caption and an address, coloured by device.

What a cell drew is recorded as minipod made it; here it gets what only a page knows.
"""

import html
import re

from minipod.pictures.drawing.svg import PALETTE
from publish.page import chapter_of
from publish.pages import terms
from publish.pages.labels import label, translate

OPEN, CLOSE = '<figure class="minipod">', "</figure>"

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.S)
_SHARDS = re.compile(r"An array .+? in (\d+) shards?\b")
_CELL = re.compile(r'class="cell c\d+"(/>(?:<path\b[^>]*/>)?<text\b[^>]*>(?:devices? )?(\d+))')
_TURNED = re.compile(
    r'(<text\b[^>]*?) text-anchor="middle" transform="translate\(([\d.-]+) ([\d.-]+)\) rotate\(-90\)">'
    r"([^<]*[\u3400-\u9fff][^<]*)</text>"
)
_WIDTH = re.compile(r"max-width:min\(100%,([\d.]+px)\)")
_LEAD = re.compile(r"An array .+? shards?(?: \(.+?\))?: (?=device)|A mesh .+?: at (?=\()")
_REST = re.compile(r"(?:[:：] at|[:：.。 ])+$")
_SENT = re.compile(r"(?:\d+, )?([\w-]+ of [\d,]+ bytes?.*?)(?=: (?:from )?devices? \d)")


def shown(markup: str, page: str, cell: str, number: int, edition: str) -> str:
    """The HTML of a cell of a page in the words of an edition; pictures coloured, and with their captions.

    number: the place of its picture, if it is one, among those of the page.
    """
    words = translate(coloured(markup), edition, page)
    words = _WIDTH.sub(r"--natural:\1;\g<0>", words)  # for the style sheet, which lets no word become too small
    return captioned(upright(words), description(markup), page, cell, number, edition) if OPEN in markup else words


def description(markup: str) -> str:
    """What a picture says of itself, in English; empty where there is no picture."""
    title = _TITLE.search(markup)
    return html.unescape(title[1]) if title else ""


def coloured(markup: str) -> str:
    """A picture of an array with each block in the colour of its device, the first where several hold the same block.

    So one device has one colour in all pictures of a page. Pictures with more blocks than colours stay as they are.
    """
    shards = _SHARDS.match(description(markup))
    if not shards or int(shards[1]) > len(PALETTE):
        return markup
    first = sorted({int(m[2]) for m in _CELL.finditer(markup)})
    if first and first[-1] >= len(PALETTE):  # devices of several processes: in their order
        return _CELL.sub(lambda m: f'class="cell c{first.index(int(m[2]))}"{m[1]}', markup)
    return _CELL.sub(lambda m: f'class="cell c{int(m[2])}"{m[1]}', markup)


def upright(markup: str) -> str:
    """A picture whose Chinese words at the side stand upright, one below the other: turned, they would lie."""

    def stood(m: re.Match[str]) -> str:
        words = m[4].replace("：", " ")  # which would be turned
        place = f'style="writing-mode:vertical-rl" transform="translate({m[2]} {m[3]})"'
        return f'{m[1]} text-anchor="middle" {place}>{words}</text>'

    return _TURNED.sub(stood, markup)


def captioned(markup: str, alt: str, page: str, cell: str, number: int, edition: str) -> str:
    """A picture with its number, its caption and an address of its own, `#fig-cell-name`, the same in all editions.

    alt     what the picture says of itself, in English
    number  its place among the pictures of the page
    """
    if not (chapter := chapter_of(page)):
        return markup
    where = f"fig-{cell}"
    said = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(caption(alt, page, cell, edition), quote=False))
    name = terms.ui()["figure"][edition].format(chapter.number, number)
    words = f'<figcaption><a href="#{where}">{name}</a> {said}</figcaption>'
    return markup.replace(OPEN, f'<figure class="minipod" id="{where}">', 1).replace(CLOSE, words + CLOSE, 1)


def caption(alt: str, page: str, cell: str, edition: str) -> str:
    """What the chapter says of the picture of this cell, or else the beginning of what the picture says of itself."""
    for row in chapter.figures if (chapter := chapter_of(page)) else ():
        if row.cell == cell:
            said = row.said["en" if edition == "en" else "zh-Hans"]
            return terms.traditional(said) if edition == "zh-Hant" else said
    joined = {"en": ("; ", ". ")}.get(edition, ("；", "："))
    first, *others = (_REST.sub("", label(f"{part}.", edition, page)) for part in parts(alt))
    return joined[1].join(filter(None, [first, joined[0].join(others)]))


def parts(alt: str) -> list[str]:
    """The description of a picture without its lists of who holds what, in pieces that can be translated.

    Each keeps the colon that stood before its list: the phrases of terms.toml know it.
    """
    if sent := _SENT.findall(alt):
        return [alt.partition(". ")[0], *(f"{one}: " for one in sent)]
    lead = _LEAD.match(alt)
    return [lead[0] if lead else alt.rstrip(".")]
