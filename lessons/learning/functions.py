"""One function of a learner's file, found and put back to its blank without touching anything else in the file."""

import ast
import datetime
import io
import os
import re
from pathlib import Path

from lessons.checking import answers
from lessons.checking.statements import blanks_in


def text_of(path: Path, name: str) -> str | None:
    """The text of a top-level function with its decorators, also of one that does not parse; None if there is none.

    Raises OSError or UnicodeDecodeError.
    """
    return _text(answers.read(path).source, _lines(path), name)


def _text(source: str, lines: list[str], name: str) -> str | None:
    found = _span(source, lines, name)
    return None if found is None else "".join(lines[found[0] : found[1]])


def reset(path: Path, blanks: Path, name: str, lang: str = "en") -> Path | None:
    """Put a function back to its blank and keep what it was in .kept/ beside the file; returns that copy, if any.

    Every other byte of the file stays; a function that is missing is added at the end. lang: as of `copy_blanks`.
    Raises OSError or UnicodeDecodeError.
    """
    lines, text = _lines(path), blanks_in(blanks, lang)
    blank = _text(text, io.StringIO(text, newline="").readlines(), name) or ""
    if lines and lines[0].endswith("\r\n"):
        blank = blank.replace("\n", "\r\n")
    first, end = _span(answers.read(path).source, lines, name) or (len(lines), len(lines))
    old = "".join(lines[first:end])
    if old == blank:
        return None
    gap = "" if old or not lines else "\n\n" if lines[-1].endswith("\n") else "\n\n\n"
    kept = None
    if old:
        now = datetime.datetime.now().strftime("%Y-%m-%dT%H%M%S")
        kept = path.parent / ".kept" / f"{path.stem}.{name}.{now}.py"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(old.encode())
    _replace(path.resolve(), "".join([*lines[:first], gap, blank, *lines[end:]]).encode())
    return kept


def _replace(path: Path, data: bytes) -> None:
    """Whole or not at all, with the same permissions."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(path.stat().st_mode & 0o777)
    os.replace(fresh, path)


def _lines(path: Path) -> list[str]:
    """With their ends as they are; Python's lines, which a form feed does not end."""
    return io.StringIO(path.read_bytes().decode("utf-8"), newline="").readlines()


def _span(source: str, lines: list[str], name: str) -> tuple[int, int] | None:
    """The function's lines [first, end); comments that are indented below its last statement belong to it."""
    tree = ast.parse(source)
    nodes = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == name]
    if nodes:
        node = nodes[-1]  # the one that counts
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        end = node.end_lineno or node.lineno
    else:
        starts = [i for i, line in enumerate(lines) if re.match(rf"(?:async +)?def +{name}\b", line)]
        if not starts:
            return None
        first = starts[-1]
        end = next((i for i in range(first + 1, len(lines)) if lines[i][0] not in " \t\r\n#)]}"), len(lines))
        while end > first + 1 and (not lines[end - 1].strip() or lines[end - 1][0] == "#"):
            end -= 1
        while first and lines[first - 1].startswith("@"):
            first -= 1
    for i in range(end, len(lines)):
        if lines[i].strip() and lines[i][0] not in " \t":
            break
        if lines[i].strip():
            end = i + 1
    return first, end
