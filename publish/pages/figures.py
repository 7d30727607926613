"""Show a chapter's pictures on its page: numbered, with a caption and an address.

The recording has the picture as minipod made it, with its data; here it gets the words of an edition.
"""

import html
import json
import re
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from minipod.drawing import Picture, phrases, svg
from publish.page import chapter_of
from publish.pages import terms
from publish.pages.labels import label, translate

FRONT_PICTURES = {"en": "book/front_page.svg", "zh-Hans": "book/front_page.zh-Hans.svg"}
OPEN, CLOSE = '<figure class="minipod">', "</figure>"

_TITLE = re.compile(r"(?<=>)[^<>]*(?=</title><metadata>)")
_DATA = re.compile(r"<metadata>(.*?)</metadata>", re.S)
_SAID, _HEARD = re.compile(r'(?<=<p class="said" style="margin:.3em 0">)[^<]*'), re.compile(r'(?<= data-heard=")[^"]*')
_WIDE = r"[\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_TURNED = re.compile(
    r'(<text\b[^>]*?) text-anchor="middle" transform="translate\(([\d.-]+) ([\d.-]+)\) rotate\(-90\)">'
    r"([^<]*[\u3400-\u9fff][^<]*)</text>"
)
_WIDTH = re.compile(r"max-width:min\(100%,([\d.]+px)\)")


def shown(markup: str, page: str, cell: str, number: int, edition: str) -> str:
    """Return the HTML of a cell of a page in the words of an edition; pictures with their captions.

    number: the number of its picture, if it is one, among those of the page.
    """
    drawing = in_words(markup, edition, page)
    drawing = _WIDTH.sub(r"--natural:\1;\g<0>", drawing)  # for the style sheet, which lets no word become too small
    return captioned(drawing, svg.data(markup), page, cell, number, edition) if OPEN in markup else drawing


def in_words(markup: str, edition: str, page: str = "") -> str:
    """Return a picture, or other HTML from minipod, in the words of an edition; a picture's data are left out."""
    drawing = translate(markup, edition, page)
    if data_texts := _DATA.findall(markup):
        each = [json.loads(kept) for kept in data_texts]
        titles = iter([html.escape(description(data, edition, page), quote=False) for data in each])
        drawing = _DATA.sub("", _TITLE.sub(lambda _: next(titles), drawing))
        drawing = upright(_frames(drawing, [data for data in each if "step" in data], edition, page))
    return drawing


def _frames(markup: str, each: list[dict], edition: str, page: str) -> str:
    """Return the frames of a player with their sentences, and the words of its script (book/_static/player.js)."""
    if not each:
        return markup
    for find, key in (_SAID, "step"), (_HEARD, "heard"):
        said = iter([html.escape(_in_edition(phrases.description, {"says": [d[key]]}, edition, page)) for d in each])
        markup = find.sub(lambda _, said=said: next(said), markup)
    ui = terms.ui_in(edition, "player_")
    kept = html.escape(json.dumps(ui, ensure_ascii=False))
    return markup.replace('<div class="player">', f'<div class="player" data-words="{kept}">', 1)


def description(data: dict, edition: str, page: str = "") -> str:
    """Return the description in a picture's data."""
    return _in_edition(phrases.description, data, edition, page)


def _in_edition(how: Callable[..., str], data: dict, edition: str, page: str) -> str:
    """Translate into the words of terms.toml; join Chinese words that a template separates as it does Latin ones."""
    if edition == "en":
        return how(data)
    text = how(data, terms.terms()["pictures"], partial(label, edition="zh-Hans", page=page))
    text = re.sub(f"(?<={_WIDE}) (?={_WIDE})", "", text)
    return terms.traditional(text) if edition == "zh-Hant" else text


def upright(markup: str) -> str:
    """Return a picture whose Chinese words at the side are set upright, one character below the other, not rotated."""

    def stood(m: re.Match[str]) -> str:
        text = m[4].replace("：", " ")  # a colon would be rotated
        place = f'style="writing-mode:vertical-rl" transform="translate({m[2]} {m[3]})"'
        return f'{m[1]} text-anchor="middle" {place}>{text}</text>'

    return _TURNED.sub(stood, markup)


def captioned(markup: str, data: dict, page: str, cell: str, number: int, edition: str) -> str:
    """Return a picture with number, caption and address, `#fig-CELL`; unchanged without data or chapter.

    data    the picture's own data
    number  its number among the pictures of the page
    """
    if not (data and (chapter := chapter_of(page))):
        return markup
    where = f"fig-{cell}"
    text = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(caption(data, page, cell, edition), quote=False))
    name = terms.ui()["figure"][edition].format(chapter.number, number)
    figcaption = f'<figcaption><a href="#{where}">{name}</a> {text}</figcaption>'
    return markup.replace(OPEN, f'<figure class="minipod" id="{where}">', 1).replace(CLOSE, figcaption + CLOSE, 1)


def caption(data: dict, page: str, cell: str, edition: str) -> str:
    """Return the chapter's caption for this cell, or else the picture's description, without its lists."""
    for row in chapter.figures if (chapter := chapter_of(page)) else ():
        if row.cell == cell:
            text = row.said["en" if edition == "en" else "zh-Hans"]
            return terms.traditional(text) if edition == "zh-Hant" else text
    return _in_edition(phrases.caption, data, edition, page)


def front_pictures(root: Path) -> dict[Path, str]:
    """Return the front page's picture as a file for each README; none if no picture of that page is recorded."""
    recorded = root / "book/outputs/index.json"
    if not recorded.exists():
        return {}
    cells = json.loads(recorded.read_text("utf-8"))["cells"]
    shown = ("".join(o.get("data", {}).get("text/html", "")) for cell in cells for o in cell["outputs"])
    picture = next((m[0] for html in shown if (m := re.search("<svg.*</svg>", html, re.S))), None)
    if picture is None:
        return {}
    return {root / path: _alone(in_words(picture, edition)) for edition, path in FRONT_PICTURES.items()}


def _alone(markup: str) -> str:
    """Return a picture of a page as the text of a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return Picture(markup, "").save(Path(folder, "picture.svg")).read_text("utf-8")
