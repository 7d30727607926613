"""Write the stubs for `new`, valid Python, TOML and Markdown marked FILL IN, and find those that are still marked."""

import ast
import json
import keyword
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publish.author.chapter_files import ChapterFiles, Finding

MARK = "FILL IN"
STUBS = ("one", "two", "three")  # the names of the mistakes if the author gives none

# The parts of a statement: a sentence that says what is asked, a line for each argument, and what is returned.
_STATED = {
    "en": (f"{MARK}: what is asked, in a sentence.", f"%s: {MARK}.", f"Returns {MARK}."),
    "zh-Hans": (f"{MARK}：用一句话说明要做什么。", f"%s：{MARK}。", f"返回 {MARK}。"),
}
FRONT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---
"""


@dataclass(frozen=True)
class Signature:
    """The function that an exercise asks for.

    names    those of its arguments
    written  the arguments as the author wrote them, with their types
    """

    name: str
    names: tuple[str, ...] = ("x",)
    written: str = "x"

    @classmethod
    def read(cls, text: str) -> "Signature":
        """Parse `twice` or `rows_of(x: jax.Array, i)`. Raises ValueError if that cannot be an exercise."""
        name = text.partition("(")[0].strip()
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or "__" in name or name[:5] == "test_":
            raise ValueError(
                f"`{name}` cannot be an exercise: its name must be a Python name in small letters, without __ or test_…"
            )
        if "(" not in text:
            return cls(name)
        try:
            (function,) = ast.parse(f"def {text}: ...").body
        except (SyntaxError, ValueError):
            function = None
        if not isinstance(function, ast.FunctionDef) or not function.args.args:
            raise ValueError(f"`{text}` is not a function with its arguments, such as {name}(x, mesh)")
        return cls(name, tuple(arg.arg for arg in function.args.args), ast.unparse(function.args))


def blank(function: Signature, languages: list[str]) -> str:
    stated = (_STATED[language] for language in languages)
    text = "\n\n".join(
        "\n".join([what, "", *(line % name for name in function.names), end]) for what, line, end in stated
    )
    doc = "\n".join(f"    {line}".rstrip() for line in text.split("\n")).strip()
    begin = {"en": f"TODO: {MARK}: where to begin", "zh-Hans": f"TODO：{MARK}：从哪里开始"}
    todo = "".join(f"    # {begin[language]}\n" for language in languages)
    return f'def {function.name}({function.written}):\n    """{doc}\n    """\n{todo}    raise NotImplementedError\n'


def test(function: Signature) -> str:
    drawn = "".join(f"                rng.normal(size=n),  # {name}\n" for name in function.names)
    return f"""def test_{function.name}(check):
    # {MARK}: inputs in two shapes and mesh sizes, an oracle in NumPy
    check(
        lambda rng: [
            (
{drawn}            )
            for n in (4, 8)
        ],
        oracle=lambda {", ".join(function.names)}: {function.names[0]},
    )
"""


def solution(function: Signature) -> str:
    return f"def {function.name}({function.written}):\n    return {function.names[0]}  # {MARK}\n"


def mistakes(function: Signature, names: Sequence[str]) -> str:
    head = f"({', '.join(function.names)}):\n    return {function.names[0]}  # {MARK}\n"
    return "\n\n".join(f"def {function.name}__{name}{head}" for name in names)


def words(name: str, languages: list[str], mistakes: Sequence[str], only: str = "") -> str:
    """Return the stub for words.toml. only: the language of the exercise, if its chapter is in both."""
    lines = [f"[{name}]", *_only(only), *_each("title", MARK, languages), *_each("hints", [MARK] * 3, languages)]
    for stub in mistakes:
        lines += ["", f"[{name}.mistakes.{stub}]"]
        lines += [line for key in ("name", "text") for line in _each(key, MARK, languages)]
    return "\n".join(lines) + "\n"


def _only(language: str) -> list[str]:
    return [f'only = "{language}"'] if language else []


def _each(key: str, value: object, languages: list[str]) -> list[str]:
    return [f"{key}.{language} = {json.dumps(value)}" for language in languages]


def chapter(lesson: str, number: int, part: int, languages: list[str]) -> dict[str, str]:
    """Return the files of a chapter without exercises yet, by path below the project."""
    folder = f"lessons/{lesson}"
    facts = [f"number = {number}", f"part = {part}", "solve = 20  # minutes"]
    facts += [*_each("title", MARK, languages), *_only(languages[0] if len(languages) == 1 else "")]
    facts += ["draft = true  # not in the book yet: `check` says when this line can go", "", "[teaching]"]
    facts += [*_each("goal", MARK, languages), *_each("ask", [MARK], languages)]
    facts += ["wrong = []  # the mistakes to expect, `exercise.mistake`"]
    copy = f"Work on your copy, answers/{lesson}.py; this file stays as it is."
    chinese = f"本章的练习。\n\n请在你自己的副本 answers/{lesson}.py 里作答，本文件保持原样。"
    derived = "zh-Hant is derived from zh-Hans by `make sync`."
    about = [f"The exercises of {lesson}.\n\n{copy}"] * ("en" in languages) + [chinese] * ("zh-Hans" in languages)
    join = "\n\n"
    files = {
        f"{folder}/chapter.toml": "\n".join(facts) + "\n",
        f"{folder}/demo.py": f"# %% first\nfrom minipod import devices\n\ndevices.simulate(8)  # {MARK}\n",
        f"{folder}/exercises.py": f'"""{join.join(about)}\n"""\n',
        f"{folder}/test_exercises.py": f'"""The checks of {lesson}."""\n',
        f"{folder}/mistakes.py": f'"""Known wrong answers of {lesson}, as code; words.toml explains them."""\n',
        f"{folder}/words.toml": f"# Hints, and what each known mistake means. {derived}\n",
        f"solutions/{lesson}.py": f'"""{lesson}, solved."""\n',
    }
    for language in languages:
        files[f"book/{language}/{lesson}.md"] = _page(f"sec-ch{number:02}", language)
    return files


def _page(label: str, language: str) -> str:
    exercises = {"en": "Exercises", "zh-Hans": "练习"}[language]
    cell = "```{code-cell}\n:cell: first\n```\n"
    return f"{FRONT}\n({label})=\n# {MARK}\n\n{MARK}\n\n{cell}\n({label}-exercises)=\n## {exercises}\n"


def unfilled(chapter: ChapterFiles) -> list[Finding]:
    """Return a finding for each function, key or line that still says FILL IN. Missing files are left out."""
    findings: list[Finding] = []
    for path in chapter.python:
        findings += _functions(chapter, path)
    for path in (chapter.facts, chapter.words):
        try:
            text = path.read_text(encoding="utf-8")
            facts = tomllib.loads(text) if MARK in text else {}
        except (OSError, ValueError):
            continue
        findings += [Finding(chapter.place(path), f"{key} still says “{MARK}”") for key in _keys(facts, [])]
    for page in chapter.pages:
        findings += _lines(chapter, page)
    return findings


def exercises_left(chapter: ChapterFiles, names: list[str]) -> set[str]:
    """Return those exercises that are not filled in yet, so that there is nothing to judge."""
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
            yield Finding(chapter.place(path, name), f"line {inside[0]} still says “{MARK}”")


def _keys(node: Any, keys: list[str]) -> Iterator[str]:
    """Yield the keys, with dots, whose text has the mark."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _keys(value, [*keys, key])
    elif MARK in str(node):
        yield ".".join(keys)


def _lines(chapter: ChapterFiles, page: Path) -> Iterator[Finding]:
    """Yield the lines of the page itself, without exercises and cells, which come from other files."""
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
            yield Finding(f"{chapter.place(page)}:{number}", f"still says “{MARK}”")
