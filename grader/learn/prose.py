"""Show text on the screen, with `code` set apart and Chinese lines broken; Textual itself breaks at spaces only."""

import re

from rich.cells import cell_len, chop_cells
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

_OPENS, _CLOSES = "（「『“‘《〈【", "，。、；：？！）」』”’》〉】…"
_WIDE = "\u2e80-\u9fff\uff00-\uffef\u3000-\u303f"
_PIECE = re.compile(rf"[{_OPENS}]*(?:[{_WIDE}]|[^\s{_WIDE}{_OPENS}{_CLOSES}]+|[{_CLOSES}])?[{_CLOSES}]*\s*")


def breaks(line: str, width: int) -> list[int]:
    """Return where to break a line so that no part is wider than `width` cells; punctuation stays with its text."""
    cuts, used = [], 0
    for match in _PIECE.finditer(line):
        cells = cell_len(match[0].rstrip())
        if used and used + cells > width:
            cuts.append(match.start())
            used = 0
        if cells > width:  # longer than any line
            at = match.start()
            for part in chop_cells(match[0], width)[:-1]:
                at += len(part)
                cuts.append(at)
            used = cell_len(line[at : match.end()])
        else:
            used += cell_len(match[0])
    return cuts


def wrapped(text: Content, width: int) -> Content:
    """Return the text with its lines broken at `width` cells, without spaces at the end of a line."""
    lines = [
        part.rstrip() for line in text.split("\n", allow_blank=True) for part in line.divide(breaks(line.plain, width))
    ]
    return Content("\n").join(lines)


def hanging(head: Content, text: Content, width: int) -> Content:
    """Return a text after its head, with further lines below its beginning; both together take `width` cells."""
    indent = cell_len(head.plain)
    return Content.assemble(head, Content("\n" + " " * indent).join(wrapped(text, max(width - indent, 10)).split("\n")))


def marked(text: str, code: str) -> Content:
    """Return a text with the parts in backticks in the style `code`, without the backticks."""
    parts = re.split(r"`([^`\n]+)`", text)
    return Content.assemble(*((part, code) if n % 2 else part for n, part in enumerate(parts)))


class Prose(Static):
    """A text as wide as its container; hidden if it is empty."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._text, self._width = Content(""), 0

    def show(self, text: Content) -> None:
        """Replace the text."""
        self.display = bool(text.plain)
        if text != self._text or text.spans != self._text.spans:
            self._text = text
            self._fit()

    def on_resize(self, event: Resize) -> None:
        """Break the lines again if the width has changed."""
        if self.content_size.width != self._width:
            self._fit()

    def _fit(self) -> None:
        self._width = self.content_size.width
        self.update(wrapped(self._text, self._width) if self._width else self._text)
