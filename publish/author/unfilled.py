"""The places of a chapter that nobody has filled in since `new` wrote them."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from publish.author.chapter_files import ChapterFiles, Finding
from publish.author.templates import MARK


def unfilled(chapter: ChapterFiles) -> list[Finding]:
    """One finding for each function, key or line that still says FILL IN. Files that are missing are left out."""
    findings: list[Finding] = []
    for path in chapter.python:
        findings += _functions(chapter, path)
    for path in (chapter.facts, chapter.words):
        try:
            text = path.read_text(encoding="utf-8")
            facts = tomllib.loads(text) if MARK in text else {}
        except (OSError, ValueError):
            continue
        findings += [Finding(chapter.place(path), f"{key} still says «{MARK}»") for key in _keys(facts, [])]
    for page in chapter.pages:
        findings += _lines(chapter, page)
    return findings


def exercises_left(chapter: ChapterFiles, names: list[str]) -> set[str]:
    """The exercises among these that are not filled in yet, so that there is nothing to judge."""
    left = {f.where.partition(" ")[2] for path in chapter.python for f in _functions(chapter, path)}
    return {name for name in names if any(re.fullmatch(rf"(test_)?{name}(__\w+)?", function) for function in left)}


def _functions(chapter: ChapterFiles, path: Path) -> Iterator[Finding]:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text if MARK in text else "")
    except (OSError, SyntaxError, ValueError):
        return
    lines = [number for number, line in enumerate(text.split("\n"), 1) if MARK in line]
    for node in tree.body:
        last = node.end_lineno or node.lineno
        if inside := [number for number in lines if node.lineno <= number <= last]:
            name = node.name if isinstance(node, ast.FunctionDef) else ""
            yield Finding(chapter.place(path, name), f"line {inside[0]} still says «{MARK}»")


def _keys(node: Any, keys: list[str]) -> Iterator[str]:
    """The keys, with dots, whose text has the mark."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _keys(value, [*keys, key])
    elif MARK in str(node):
        yield ".".join(keys)


def _lines(chapter: ChapterFiles, page: Path) -> Iterator[Finding]:
    """Lines of the page itself: what stands in an exercise or a cell comes from another file."""
    try:
        lines = page.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return
    end = ""  # the line that ends what is copied
    for number, line in enumerate(lines, 1):
        if not end and line.startswith("% exercise:"):
            end = "% end exercise"
        elif not end and line.startswith("```{code-cell}"):
            end = "```"
        elif line.rstrip() == end:
            end = ""
        elif MARK in line and not end:
            yield Finding(f"{chapter.place(page)}:{number}", f"still says «{MARK}»")
