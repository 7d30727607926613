"""Find texts of chapters that are written in one language only, and statements that differ between the languages."""

import ast
import functools
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.exercise.chapters import FILE
from grader.exercise.statements import about, code_comments, functions, kind, paragraphs, split_docstring, typed
from publish.chapter_tables import WRITTEN, languages


def either(table: dict[str, Any], language: str) -> tuple[Any, str]:
    """Return a table's text and its language: this one, or else a different one. Raises KeyError if there is none."""
    for found in (language, *WRITTEN):
        if table.get(found):
            return table[found], found
    raise KeyError(language)


def statement(node: ast.FunctionDef | ast.Module, language: str) -> tuple[str, str]:
    """Return a docstring's part and its language: this one, or else a different one. Raises KeyError if none."""
    return either(split_docstring(ast.get_docstring(node) or ""), language)


def written_in(folder: Path, exercise: str = "") -> tuple[str, ...]:
    """Return the languages of a chapter or an exercise: both, or the `only` of chapter.toml or words.toml."""
    table = _read(folder / "words.toml").get(exercise)
    named = languages(table) if isinstance(table, dict) else WRITTEN
    return languages(_read(folder / FILE)) if named == WRITTEN else named


def unwritten(root: Path, lesson: str) -> tuple[list[str], list[str]]:
    """Return sentences on the texts that a chapter omits in one language as `only` says, and on those that are missing.

    Files that cannot be read are left out, because other checks report them.
    """
    folder, left_out, wrong = root / "lessons" / lesson, [], []
    missing = list(_unwritten(root, folder))
    for exercise, language, sentence in missing:
        if language not in written_in(folder, exercise):
            left_out.append(sentence)
            continue
        (other,) = (each for each in WRITTEN if each != language)
        where = f"below [{exercise}] in words.toml" if exercise else f"in {FILE}"
        wrong.append(f'{sentence}: write it, or `only = "{other}"` {where}')
    for exercise in ["", *_read(folder / "words.toml")]:
        own = _read(folder / "words.toml").get(exercise) if exercise else _read(folder / FILE)
        if isinstance(own, dict) and "only" in own and not any(exercise in ("", gap[0]) for gap in missing):
            where = f"words.toml: [{exercise}]" if exercise else f"{FILE}:"
            sentence = "says `only`, but all texts are in both languages: delete that line"
            wrong.append(f"{_place(folder, root)}/{where} {sentence}")
    return left_out, wrong


def unlike(root: Path, lesson: str) -> list[str]:
    """Return differences of the exercises' statements in the two languages: paragraphs, arguments, types, layouts.

    Each is a sentence. Statements that are in one language only, or that cannot be read, are left to other checks.
    """
    blanks = root / "lessons" / lesson / "exercises.py"
    try:
        nodes = functions(blanks)
    except (OSError, SyntaxError, ValueError):
        return []
    place = _place(blanks, root)
    return [f"{place}: the docstring of `{name}` {what}" for name, node in nodes.items() for what in _unlike(node)]


def _unlike(node: ast.FunctionDef) -> Iterator[str]:
    parts = split_docstring(ast.get_docstring(node) or "")
    if not all(parts.values()):
        return
    english, chinese = (paragraphs(parts[language]) for language in WRITTEN)
    kinds, others = ([kind(paragraph) for paragraph in part] for part in (english, chinese))
    if kinds != others:
        yield f"has the paragraphs {' · '.join(kinds)} in English, and in Chinese {' · '.join(others)}"
        return
    for of, one, other in zip(kinds, map(typed, english), map(typed, chinese), strict=True):
        for only, language in ((one - other, "English"), (other - one, "Chinese")):
            if only:
                yield f"says {', '.join(sorted(only))} in {language} only, in the paragraph {of}"
    names = {name for paragraph in english for name in about(paragraph)}
    missing = [argument.arg for argument in node.args.args if argument.arg not in names]
    if missing and len(missing) < len(node.args.args):  # arguments described in a sentence need no lines
        yield f"has no line `{missing[0]}: …`"


def _unwritten(root: Path, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield (exercise or "" for the chapter, language, sentence) for everything that only one language has."""
    for keys in _gaps(_read(folder / FILE), []):
        yield "", keys[-1], f"{_place(folder / FILE, root)}: {'.'.join(keys)} is missing"
    for keys in _gaps(_read(folder / "words.toml"), []):
        yield keys[0], keys[-1], f"{_place(folder / 'words.toml', root)}: {'.'.join(keys)} is missing"
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
                place = _place(blanks, root)
                yield name, missing[0], f"{place}: the {what} of `{name}` has no part in {missing[0]}"
    pages = {language: root / "book" / language / f"{folder.name}.md" for language in WRITTEN}
    if any(page.exists() for page in pages.values()):
        for language in [language for language, page in pages.items() if not page.exists()]:
            yield "", language, f"{_place(pages[language], root)} is missing"


def _read(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; {} if it cannot be read."""
    try:
        return _table(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


_table = functools.cache(tomllib.loads)  # called once for each exercise


def _gaps(node: dict[str, Any], keys: list[str]) -> Iterator[list[str]]:
    """Yield the keys of tables that have a text in one of the languages but not in the other."""
    if any(node.get(language) for language in WRITTEN):
        yield from ([*keys, language] for language in WRITTEN if not node.get(language))
        return
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _gaps(value, [*keys, key])


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
