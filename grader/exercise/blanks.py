"""Copy blanks into a learner's files: whole missing files, missing exercises and, on request, one blank again.

Everything else in a file stays as it is, byte for byte.
"""

import ast
import datetime
import errno
import io
import os
import tokenize
from dataclasses import dataclass
from pathlib import Path

from grader.exercise import answers, function_text
from grader.exercise.chapters import given_out
from grader.exercise.statements import blanks_in
from grader.exercise.statements import functions as exercises_in
from grader.files import write_whole
from grader.messages import say

FEW = 3  # files that a sentence names; of more it says how many


@dataclass(frozen=True)
class Added:
    """The exercises that an answers file lacked. error: why their blanks could not be added; empty if they were."""

    file: str
    names: list[str]
    error: str = ""


def prepare(lessons: Path, folder: Path, lang: str) -> list[str]:
    """Copy and add what the learner's own folder lacks; return sentences for the learner.

    Raises OSError if there is no folder and none can be made.
    """
    notes = []
    try:
        if copied := copy_blanks(lessons, folder, lang):
            few = {"files": ", ".join(copied)} if len(copied) <= FEW else {"count": len(copied)}
            notes.append(say("copied" if len(copied) <= FEW else "copied-many", lang, folder="answers/", **few))
    except OSError as error:
        if not folder.is_dir():
            raise
        notes.append(not_copied(error, lang))
    return notes + complete(lessons, folder, lang)


def complete(lessons: Path, folder: Path, lang: str) -> list[str]:
    """Add what the files in the learner's own folder lack; return sentences for the learner."""
    notes: list[str] = []
    blanks = add_missing(lessons, folder, lang)
    done, failed = [f for f in blanks if not f.error], [f for f in blanks if f.error]
    if len(done) > FEW:
        count = sum(len(added.names) for added in done)
        notes.append(say("added-many", lang, count=count, files=len(done), folder="answers/"))
        done = []
    for added in [*done, *failed[:FEW]]:
        values = {"file": f"answers/{added.file}", "names": ", ".join(added.names), "error": added.error}
        notes.append(say("not-added" if added.error else "added", lang, **values))
    if more := len(failed[FEW:]):
        notes.append(say("and-more-files", lang, count=more))
    return notes


def not_copied(error: OSError, lang: str) -> str:
    """Return a sentence that says why the blanks could not be copied."""
    return say("no-copy", lang, folder="answers/", error=error.strerror or str(error))


def copy_blanks(lessons: Path, folder: Path, lang: str = "en") -> list[str]:
    """Copy the blanks of each lesson without an answers file, never overwriting one; return the names of the new files.

    lang  the language of their texts
    """
    copied = []
    for blanks in given_out(lessons, "exercises.py"):
        target = folder / f"{blanks.parent.name}.py"
        if not target.exists():
            folder.mkdir(exist_ok=True)
            write_whole(target, blanks_in(blanks, lang).encode())
            copied.append(target.name)
    return copied


def add_missing(lessons: Path, folder: Path, lang: str = "en") -> list[Added]:
    """Add the blanks of exercises that an answers file lacks, new or deleted ones, at its end.

    A file that cannot be read is left to the check, which reports it. lang: as for `copy_blanks`.
    """
    added = []
    for blanks in given_out(lessons, "exercises.py"):
        path = folder / f"{blanks.parent.name}.py"
        try:
            file = answers.read(path)
            names = [name for name in exercises_in(blanks) if not answers.may_define(file, name)]
        except (OSError, UnicodeDecodeError, SyntaxError):
            continue
        if not names:
            continue
        try:
            append(path, blanks, names, lang)
            added.append(Added(path.name, names))
        except OSError as error:
            added.append(Added(path.name, names, error.strerror or str(error)))
    return added


def append(path: Path, blanks: Path, names: list[str], lang: str = "en") -> None:
    """Add the blanks `names` at the end of an answers file, after the imports of the blanks that the file lacks.

    Raises OSError or UnicodeDecodeError.
    """
    data = path.read_bytes()
    text = blanks_in(blanks, lang).replace("\r\n", "\n")
    lines = function_text.lines_of(text)
    pieces = [(function_text.text_in(text, lines, name) or "").rstrip("\n") for name in names]
    new = "\n\n\n".join([*_needed(text, answers.read(path), names), *pieces]) + "\n"
    if data.strip():
        new = ("\n\n" if data.endswith((b"\n", b"\r")) else "\n\n\n") + new
    if b"\r\n" in data:
        new = new.replace("\n", "\r\n")
    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0].removesuffix("-sig")
    whole = data + new.encode(encoding, "backslashreplace")  # a docstring says the same in escapes
    if len(whole) > answers.LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    write_whole(path, whole)


def reset(path: Path, blanks: Path, name: str, lang: str = "en") -> Path | None:
    """Restore a function's blank and keep the old version in .kept/ next to the file; return that copy, if any.

    A missing function is added at the end. lang: as for `copy_blanks`. Raises OSError or UnicodeDecodeError.
    """
    lines, text = function_text.lines_of(path.read_bytes().decode("utf-8")), blanks_in(blanks, lang)
    region = function_text.span(answers.read(path).source, lines, name)
    if region is None:
        append(path, blanks, [name], lang)
        return None
    first, end = region
    blank = function_text.text_in(text, function_text.lines_of(text), name) or ""
    if lines[0].endswith("\r\n"):
        blank = blank.replace("\n", "\r\n")
    old = "".join(lines[first:end])
    if old == blank:
        return None
    now = datetime.datetime.now().strftime("%Y-%m-%dT%H%M%S")
    kept = path.parent / ".kept" / f"{path.stem}.{name}.{now}.py"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(old.encode())
    write_whole(path, "".join([*lines[:first], blank, *lines[end:]]).encode())
    return kept


def _needed(text: str, file: answers.Answers, names: list[str]) -> list[str]:
    """Return the lines before the functions `names` in the blanks that the file lacks: all imports, because answers may
    need them, and of the rest those that the functions use."""
    tree, existing = ast.parse(text), answers.top_level_names(ast.parse(file.source))
    used = {n.id for node in tree.body if getattr(node, "name", None) in names for n in _names(node)}
    imports: list[str] = []
    others: list[str] = []
    for node in reversed(tree.body):  # what is used stands before what uses it
        if isinstance(node, ast.Import | ast.ImportFrom):
            if getattr(node, "module", "") != "__future__":  # that one has to stand at the top
                imports += [line for alias in reversed(node.names) if (line := _import(node, alias, existing))]
        elif not isinstance(node, ast.Expr) and getattr(node, "name", None) not in names:
            bound = answers.top_level_names(ast.Module([node], []))
            if bound & used - existing:
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                others.append("\n".join(text.split("\n")[first - 1 : node.end_lineno]))
                used |= {n.id for n in _names(node)}
    return ["\n".join(reversed(part)) for part in (imports, others) if part]


def _names(node: ast.AST) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name)]


def _import(node: ast.Import | ast.ImportFrom, alias: ast.alias, existing: set[str]) -> str:
    """Return the statement that imports only this name; nothing if the file has the import."""
    if (alias.asname or alias.name.partition(".")[0]) in existing:
        return ""
    what = alias.name + (f" as {alias.asname}" if alias.asname else "")
    return f"from {node.module} import {what}" if isinstance(node, ast.ImportFrom) else f"import {what}"
