"""Show a message in a cell: as text for terminals, and as HTML for light and dark notebooks."""

import html
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

GREEN, RED, OTHER = "#2e7d32", "#c62828", "#b26a00"  # 3 : 1 on light and on dark, so for bars and marks, not words
COLOURS = {"right": GREEN, "wrong": RED, "broken": RED, "hung": RED}
_MARKS = {GREEN: "✓", RED: "✗"}
_BOX = "border-left: 4px solid {colour}; padding: 0.2em 0 0.2em 0.9em; margin: 0.3em 0"
_LINES = "white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3em 0 0; background: none; color: inherit"


@dataclass(frozen=True)
class Message:
    """A sentence or a verdict. text: its lines. word: the outcome. head: the line above. colour: of the bar beside."""

    text: str
    lang: str
    head: str = ""
    word: str = ""
    colour: str = OTHER

    def __repr__(self) -> str:
        head, lines = "  ".join(filter(None, [self.word, self.head])), self.text.splitlines()
        return "\n".join([head, *(f"  {line}" for line in lines)] if head else lines)

    def _repr_html_(self) -> str:
        word = f"<strong>{html.escape(self.word)}</strong> " if self.word else ""
        if word and (mark := _MARKS.get(self.colour)):
            word = f'<strong aria-hidden="true" style="color: {self.colour}">{mark}</strong> {word}'
        head = f"<div>{word}{html.escape(self.head)}</div>" if self.head or word else ""
        if body := re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(self.text, quote=False)):
            body = f'<pre style="{_LINES}">{body}</pre>' if word else f'<div style="white-space: pre-line">{body}</div>'
        return f'<div lang="{self.lang}" style="{_BOX.format(colour=self.colour)}">{head}{body}</div>'


@dataclass(frozen=True)
class Code:
    """A piece of Python code, which the notebook highlights."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.text}\n```"


class _Nothing:
    """A replacement for a message that no longer holds."""

    def __repr__(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return "<span hidden></span>"


@contextmanager
def meanwhile(message: Message) -> Iterator[None]:
    """Show a message below the cell while something runs, but not in a terminal's IPython, where it would stay."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if ipython is None or shell is None or not hasattr(shell, "kernel"):
        yield
        return
    handle = ipython.display.display(message, display_id=True)
    try:
        yield
    finally:
        handle.update(_Nothing())
