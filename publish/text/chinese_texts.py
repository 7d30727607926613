"""Find every Simplified Chinese text of the project by its place, and its prose without the code in it."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.exercise.statements import HAN, code_comments, split_docstring
from publish.page import ROOT
from publish.pages import terms

_CODE = re.compile(
    r"`[^`\n]*`|\[[^\]\n]*, [^\]\n]*\]|\$[^$\n]+\$|\{[\w-]+\}(?=`)|\]\([^)\s]*\)|<[^>\n]*>|https?://[^\s）]+"
)
_SENTENCE = re.compile(r"[^。！？]+[。！？]?[”）]*")
_STARTS = re.compile(r"\s*(?:#|:{3,}|%|\||\(\S+\)=|[-*+] |\d+\. |>|$)")


@dataclass(frozen=True)
class Sentence:
    """A sentence of prose. line: where it begins. last: whether its paragraph ends with it. Code is the letter C."""

    line: int
    text: str
    last: bool = False


def prose(text: str) -> list[tuple[int, str]]:
    """Return the lines of a Markdown text that are Chinese prose, with their numbers; code becomes one letter."""
    lines = []
    for number, (line, code) in enumerate(terms.with_fences(text), 1):
        if not code and HAN.search(line) and not re.match(r"\s*:[\w-]+:", line):
            lines.append((number, without_code(line)))
    return lines


def without_code(line: str) -> str:
    """Return a line of Markdown with the letter C for code and formulas, without names of roles, addresses and tags."""
    return _CODE.sub(lambda m: "" if m[0].startswith(("{", "](", "<")) else "C", line)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown text, with lines joined as on a page; rows of tables are left out."""
    paragraph: list[tuple[int, str]] = []
    for number, line in [*prose(text), (0, "")]:
        if paragraph and (number != paragraph[-1][0] + 1 or _STARTS.match(line)):
            yield from _split(paragraph)
            paragraph = []
        if number and not line.lstrip().startswith("|"):
            paragraph.append((number, line))


def cells(text: str) -> Iterator[Sentence]:
    """Yield the cells of a Markdown text's tables, each a sentence."""
    for number, line in prose(text):
        if line.lstrip().startswith("|"):
            yield from (Sentence(number, cell.strip()) for cell in line.split("|") if HAN.search(cell))


def _split(paragraph: list[tuple[int, str]]) -> Iterator[Sentence]:
    whole, starts = "", []
    for number, line in paragraph:
        starts.append((len(whole), number))
        whole += re.sub(r"^\s*(?:#+|:{3,}(?:\{\w+\})?|[-*+]|\d+\.|>)\s+", "", line).strip()
    matches = list(_SENTENCE.finditer(whole))
    for m in matches:
        line = max(number for at, number in starts if at <= m.start())
        yield Sentence(line, m[0].strip(), m is matches[-1])


def texts(root: Path = ROOT) -> dict[str, str]:
    """Return every Simplified text by its place: pages, words, messages, docstrings, and files at the root."""
    by_place = {}
    for path in sorted((root / "book" / "zh-Hans").glob("*.md")):
        by_place[path.relative_to(root).as_posix()] = path.read_text("utf-8")
    by_place |= messages(root)
    for name, row in terms.terms()["ui"].items():
        by_place[f"book/terms.toml: {name}"] = row["zh-Hans"]
    for path in sorted(root.glob("*.zh-Hans.md")):
        by_place[path.name] = path.read_text("utf-8")
    return by_place


def messages(root: Path = ROOT) -> dict[str, str]:
    """Return what learners read outside the pages: the words of TOML files, the blanks' docstrings and comments."""
    by_place = {}
    for folder in ("lessons", "minipod", "book", "grader"):
        for path in sorted((root / folder).rglob("*.toml")):
            if not path.name.endswith(".zh-Hant.toml") and path.name != "terms.toml":
                for name, text in _words(tomllib.loads(path.read_text("utf-8")), "zh-Hans"):
                    where = f"{path.relative_to(root).as_posix()}: {name}"
                    by_place[where] = f"{by_place[where]}\n\n{text}" if where in by_place else text  # several hints
    for path in sorted((root / "lessons").rglob("exercises.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in [tree, *(n for n in tree.body if isinstance(n, ast.FunctionDef))]:
            where = f"{path.relative_to(root).as_posix()}: {getattr(node, 'name', 'top')}"
            by_place[where] = split_docstring(ast.get_docstring(node) or "")["zh-Hans"]
            if isinstance(node, ast.FunctionDef):
                for number, comment in enumerate(code_comments(path, node)):
                    by_place[f"{where} {number}"] = comment.parts["zh-Hans"]
    return by_place


def _words(node: dict, key: str, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string under the key of an edition, with the path to it."""
    for name, value in node.items():
        if name == key:
            yield from ((path, v) for v in ([value] if isinstance(value, str) else value))
        elif isinstance(value, dict):
            yield from _words(value, key, f"{path}.{name}".lstrip("."))
        elif isinstance(value, list):
            for row in value:
                if isinstance(row, dict):
                    yield from _words(row, key, f"{path}.{name}".lstrip("."))
