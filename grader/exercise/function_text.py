"""Find one function in the text of an answers file, even if it does not parse."""

import ast
import io
import re
from pathlib import Path

from grader.exercise import answers
from grader.exercise.statements import functions


def text_of(path: Path, name: str) -> str | None:
    """Return the text of a top-level function with its decorators, even if it does not parse; None if it is missing.

    Raises OSError or UnicodeDecodeError.
    """
    return text_in(answers.read(path).source, lines_of(path.read_bytes().decode("utf-8")), name)


def text_in(source: str, lines: list[str], name: str) -> str | None:
    """Return the same as `text_of` from text already read: `source` as from `answers.read`, `lines` as in the file."""
    region = span(source, lines, name)
    return None if region is None else "".join(lines[region[0] : region[1]])


def lines_of(text: str) -> list[str]:
    """Split a text into lines, with their ends, as Python does: a form feed does not end a line."""
    return io.StringIO(text, newline="").readlines()


def span(source: str, lines: list[str], name: str) -> tuple[int, int] | None:
    """Return the function's lines [first, end), with indented comments below its last statement; None if missing."""
    tree = answers.syntax_tree(source)
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


def without_docstring(path: Path, name: str) -> str:
    """Return the text of a public top-level function with its decorators and without its docstring. Raises KeyError."""
    lines, node = path.read_text("utf-8").split("\n"), functions(path)[name]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
    keep = lines[first : node.end_lineno]
    if ast.get_docstring(node) is not None:
        doc = node.body[0]
        del keep[doc.lineno - 1 - first : (doc.end_lineno or doc.lineno) - first]
    return "\n".join(keep).rstrip()
