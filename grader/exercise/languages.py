"""What of a chapter is written in one language only, by file and key; who reads the other is shown that one."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.exercise.chapters import FILE, WRITTEN
from grader.exercise.statements import code_comments, functions, split_docstring


def either(table: dict[str, Any], language: str) -> tuple[Any, str]:
    """What a table of languages says in this one, else in another, and in which. KeyError where it says nothing."""
    for found in (language, *WRITTEN):
        if table.get(found):
            return table[found], found
    raise KeyError(language)


def statement(node: ast.FunctionDef | ast.Module, language: str) -> tuple[str, str]:
    """A docstring's part in this language, else in another, and in which. KeyError where there is none."""
    return either(split_docstring(ast.get_docstring(node) or ""), language)


def unwritten(root: Path, lesson: str) -> list[str]:
    """What a chapter says in one language and not in the other, a sentence each. What cannot be read is left out."""
    folder = root / "lessons" / lesson
    found: list[str] = []
    for name in (FILE, "words.toml"):
        path = folder / name
        try:
            facts = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found += [f"{_place(path, root)}: {key} is missing" for key in _gaps(facts, [])]
    blanks = folder / "exercises.py"
    try:
        nodes = functions(blanks)
    except (OSError, SyntaxError, ValueError):
        nodes = {}
    for name, node in nodes.items():
        docstring = split_docstring(ast.get_docstring(node) or "")
        texts = [("docstring", docstring), *(("TODO", comment.parts) for comment in code_comments(blanks, node))]
        for what, parts in texts:
            missing = [language for language in WRITTEN if not parts[language]]
            if len(missing) == 1:
                found.append(f"{_place(blanks, root)}: the {what} of `{name}` has no part in {missing[0]}")
    pages = [root / "book" / language / f"{lesson}.md" for language in WRITTEN]
    if any(page.exists() for page in pages):
        found += [f"{_place(page, root)} is missing" for page in pages if not page.exists()]
    return found


def _gaps(node: dict[str, Any], keys: list[str]) -> Iterator[str]:
    """The keys, with dots, of tables that say something in one of the languages and not in the other."""
    if any(node.get(language) for language in WRITTEN):
        yield from (".".join([*keys, language]) for language in WRITTEN if not node.get(language))
        return
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _gaps(value, [*keys, key])


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
