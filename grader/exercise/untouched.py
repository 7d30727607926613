"""Translate blanks that a learner has not touched after the learner's language has changed."""

import ast
import contextlib
import re
from pathlib import Path

from grader.exercise import answers, function_text
from grader.exercise.chapters import given_out
from grader.exercise.statements import HAN, blanks_in
from grader.files import write_whole
from grader.messages import LANGUAGES

IMPORTS = "import"  # the name of what stands before the first function


def translate(lessons: Path, folder: Path, lang: str) -> None:
    """Translate each blank and each file's docstring that is still as it was given out in another language.

    Whatever a learner has changed stays. A file that cannot be read or written is left to the check, which reports it.
    """
    for blanks in given_out(lessons, "exercises.py"):
        path = folder / f"{blanks.parent.name}.py"
        with contextlib.suppress(OSError, UnicodeDecodeError, SyntaxError):
            if path.is_file():
                _translate(path, blanks, lang)


def _translate(path: Path, blanks: Path, lang: str) -> None:
    data = path.read_bytes()
    text = data.decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    if end == "\r\n" and re.search(r"(?<!\r)\n", text):
        return  # of both kinds: nothing that we wrote
    lines = text.split(end)
    wanted, *others = map(_pieces, _given_out(blanks, lang))
    source = answers.read(path).source
    spans = {
        name: function_text.span(source, [line + "\n" for line in lines], name)
        for name in wanted
        if name not in ("", IMPORTS)
    }
    spans[""] = _docstring(source)
    functions = sorted(((span, name) for name, span in spans.items() if span), reverse=True)
    for (first, last), name in functions:
        if "\n".join(lines[first:last]) in (other.get(name) for other in others):
            lines[first:last] = wanted[name].split("\n")
    _imports(lines, wanted[IMPORTS].split("\n"), [line for other in others for line in other[IMPORTS].split("\n")])
    whole = end.join(lines).encode()
    if whole != data:
        write_whole(path, whole)


def _given_out(blanks: Path, lang: str) -> list[str]:
    """Return the text of a file of blanks in this language, then all other forms in which it is or was given out."""
    both = blanks.read_text("utf-8")
    before = "\n".join(line for line in both.split("\n") if not (line.lstrip().startswith("# ") and HAN.search(line)))
    given = [both, before, *(blanks_in(blanks, other) for other in LANGUAGES if other != lang)]
    return [text.replace("\r\n", "\n") for text in (blanks_in(blanks, lang), *given)]


def _pieces(text: str) -> dict[str, str]:
    """Return each function's text by name, and the file's docstring under an empty name."""
    lines = text.split("\n")
    tree = ast.parse(text)
    spans = {
        node.name: function_text.span(text, [line + "\n" for line in lines], node.name)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    spans[""] = _docstring(text)
    spans[IMPORTS] = (0, min([len(lines), *(span[0] for name, span in spans.items() if name and span)]))
    return {name: "\n".join(lines[span[0] : span[1]]) for name, span in spans.items() if span}


def _imports(lines: list[str], wanted: list[str], others: list[str]) -> None:
    """Translate the comments after imports that are still as they were given out."""
    here = {line.partition("  #")[0]: line for line in wanted if "  # noqa" in line}
    for n, line in enumerate(lines):
        if line in others and line.partition("  #")[0] in here:
            lines[n] = here[line.partition("  #")[0]]


def _docstring(source: str) -> tuple[int, int] | None:
    """Return the lines [first, end) of a file's docstring."""
    body = answers.syntax_tree(source).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0].lineno - 1, body[0].end_lineno or body[0].lineno
    return None
