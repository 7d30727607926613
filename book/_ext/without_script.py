"""The colours for readers without JavaScript: `data-theme` then stays "auto", for which no style sheet has a rule.

What the sheets say of light is repeated for "auto", and what they say of dark, for machines that prefer dark.
"""

import re
from collections.abc import Iterator
from pathlib import Path

NAME = "without_script.css"
SHEETS = ("styles/pydata-sphinx-theme.css", "pygments.css", "styles/sphinx-book-theme.css", "book.css", "boxes.css")
_THEME = re.compile(r"""\[data-theme=["']?(light|dark)["']?\]""")
_TOKEN = re.compile(r"/\*.*?\*/|[^{}/;]+|.", re.S)


def rules(css: str) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """The rules of a style sheet: the at-rules around each, its selector, its declarations. Comments are left out."""
    around, text = [], ""
    for token in _TOKEN.findall(re.sub(r"/\*.*?\*/", "", css, flags=re.S)):
        if token == "{":
            around.append(text.strip())
            text = ""
        elif token == "}":
            selector = around.pop()
            if text.strip() and not selector.startswith("@"):
                yield tuple(around), selector, text.strip()
            text = ""
        elif token == ";" and (not around or around[-1].startswith("@")):  # @charset, @import
            text = ""
        else:
            text += token


def sheet(css: str) -> str:
    """The rules of a style sheet for "auto": those of light as they stand, then those of dark in a media query."""
    said: dict[str, list[str]] = {"light": [], "dark": []}
    for around, selector, body in rules(css):
        if themes := set(_THEME.findall(selector)):
            rule = f"{_THEME.sub('[data-theme=auto]', selector)}{{{body}}}"
            for outer in reversed(around):
                rule = f"{outer}{{{rule}}}"
            said["dark" if themes == {"dark"} else "light"].append(rule)
    dark = ["@media screen and (prefers-color-scheme:dark){", *said["dark"], "}"] if said["dark"] else []
    return "\n".join([*said["light"], *dark, ""])


def write(static: Path) -> None:
    """Write the sheet into a built edition's folder of static files."""
    found = [path.read_text("utf-8") for name in SHEETS if (path := static / name).exists()]
    (static / NAME).write_text("".join(map(sheet, found)), "utf-8")
