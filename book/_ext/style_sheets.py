"""Style sheets made of those that others wrote: without what no page meets, and for readers without JavaScript.

A rule stays where each class that its selector names stands on a page, or in a script, which may put it there: a third
of their bytes. Without JavaScript `data-theme` stays "auto", for which no sheet has a rule: the rules for light are
repeated for it, and those for dark, for machines that prefer dark.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

BOOK = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BOOK), str(BOOK.parent)]  # Jupyter Book starts elsewhere

from publish import files  # noqa: E402

SHEETS = ("styles/pydata-sphinx-theme.css", "styles/sphinx-book-theme.css", "sphinx-design.min.css", "mystnb.*.css")
MARK = "/* only what this book uses */\n"
_CLASSES = re.compile(r'\bclass="([^"]*)"')
_WORDS = re.compile(r"[A-Za-z_][\w-]*")
_NAMED = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
_EITHER = re.compile(r":(?:not|is|where|has)\([^()]*(?:\([^()]*\)[^()]*)*\)")  # a class in there need not be met
THEMED = ("styles/pydata-sphinx-theme.css", "pygments.css", "styles/sphinx-book-theme.css", "book.css", "boxes.css")
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


def for_auto(css: str) -> str:
    """The rules of a style sheet for "auto": those of light as they stand, then those of dark in a media query."""
    by_theme: dict[str, list[str]] = {"light": [], "dark": []}
    for around, selector, body in rules(css):
        if themes := set(_THEME.findall(selector)):
            rule = f"{_THEME.sub('[data-theme=auto]', selector)}{{{body}}}"
            for outer in reversed(around):
                rule = f"{outer}{{{rule}}}"
            by_theme["dark" if themes == {"dark"} else "light"].append(rule)
    dark = ["@media screen and (prefers-color-scheme:dark){", *by_theme["dark"], "}"] if by_theme["dark"] else []
    return "\n".join([*by_theme["light"], *dark, ""])


def write_without_script(static: Path) -> None:
    """Write without_script.css into a built edition's folder of static files."""
    sheets = [path.read_text("utf-8") for name in THEMED if (path := static / name).exists()]
    (static / "without_script.css").write_text("".join(map(for_auto, sheets)), "utf-8")


def used(folder: Path) -> set[str]:
    """The classes on the pages of a folder, and every word of its scripts."""
    names: set[str] = set()
    for page in folder.glob("*.html"):
        names.update(*map(str.split, set(_CLASSES.findall(page.read_text("utf-8")))))
    for script in (folder / "_static").rglob("*.js"):
        if script.name != "search_index.js":
            names.update(_WORDS.findall(script.read_text("utf-8")))
    return names


def slim(css: str, words: set[str]) -> str:
    """A style sheet without the rules that nothing meets."""
    out: list[str] = []
    inside: tuple[str, ...] = ()
    for around, selector, body in rules(css):
        frames = bool(around) and around[-1].startswith(("@keyframes", "@-webkit-keyframes"))
        kept = selector if frames else ",".join(_met(selector, words))
        if not kept:
            continue
        if around != inside:
            out.append("}" * len(inside) + "".join(f"{outer}{{" for outer in around))
            inside = around
        out.append(f"{kept}{{{body}}}")
    return "".join(out) + "}" * len(inside)


def _met(selectors: str, words: set[str]) -> Iterator[str]:
    for selector in re.split(r",(?![^()]*\))", selectors):
        if words.issuperset(_NAMED.findall(_EITHER.sub("", selector))):
            yield selector.strip()


def slim_all(app: Sphinx, error: Exception | None) -> None:
    """Write the sheets anew. What they were is kept with Sphinx's own: a page may need another rule next time."""
    if error is not None or app.builder.format != "html":
        return
    words = used(Path(app.outdir))
    for sheet in [path for name in SHEETS for path in Path(app.outdir, "_static").glob(name)]:
        kept = Path(app.doctreedir, f"{sheet.name}.whole")
        css = sheet.read_text("utf-8")
        if css.startswith(MARK):
            css = kept.read_text("utf-8")
        else:
            files.write(kept, css)
        files.write(sheet, MARK + slim(css, words))


def setup(app: Sphinx) -> dict:
    app.connect("build-finished", slim_all, priority=950)  # after what edition.py takes out
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
