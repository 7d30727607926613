"""Provide an exercise's statement and its blank in the reader's language.

The blank has the English, then the Chinese; words.toml has the languages that are derived or translated.
"""

import ast
import functools
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.exercise.lesson_words import ExerciseWords, exercise_words, lesson_words
from grader.messages import pick, say

HAN = re.compile(r"[\u3400-\u9fff]")
FILE = "this file"  # stands for the exercise's name where the words are about all of them
NOTHING = ExerciseWords()
_WIDTH = 84  # columns of what is not laid out by hand
_WIDE = r"[\u2e80-\u9fff\uff00-\uffef\u3000-\u303f“”‘’]"
# Patterns, compiled where they are used: that takes 30 ms, and a check has no use for them.
_BETWEEN_WIDE = rf"(?<={_WIDE})\n(?={_WIDE})|(?<=[，。：；？！、（])\n(?!\n)"
_CODE = (
    r"`[^`]*`"  # is code already
    r'|"[^"\n\u3400-\u9fff]*"'  # "x"
    r"|\b[a-z]\w*(?:\[[^\]]*\])+|\[[^\]\u3400-\u9fff]*\]"  # f32[N, features], sent[i][j], [N, features]
    r"|(?:(?<=Returns )|(?<=返回 )|(?<=回傳 ))\([^()]*\)"  # Returns (padded, back)
    r"|\b[A-Za-z]\w*(?:\.\w+)*\((?:[^()\u3400-\u9fff]|\([^()\u3400-\u9fff]*\))*\)"  # P('x'), P(('x', 'y'), None)
    r"|\b[A-Za-z]\w*(?:_\w+|\.\w+)+"  # num_devices, jax.P
)
_CODE_OR_WORD = rf"{_CODE}|(?m:(?:^|(?<=[,;.] )))(?P<listed>\w+)(?=: |：)|\b(?P<word>\w+)\b"  # x: …; y: …
_TYPED = r"\b(?:bool|[a-z]{1,4}\d+)\[[^\]]*\]|\bP\((?:[^()]|\([^()]*\))*\)"  # f32[n, m], P("x", None)
_HEAD = r"([a-z_]\w*(?:(?:, | and |、)[a-z_]\w*)*)(?:: |：)"  # x: …, gate and up: …
# Where a line begins that begins a paragraph: behind a sentence, with the names of arguments or of results, with what
# is returned, or with the budget; and the items of a list. Another paragraph has an empty line above it.
_BEGINS = rf"(?:(?<=[.。:：])|(?<=[.。][)）]))\n(?={_HEAD}|Returns\b|Budget\b|返回|预算)|\n(?=- )"


def split_docstring(text: str) -> dict[str, str]:
    """Split a docstring into its English and its Chinese part, which starts at the first line with a Han character."""
    lines = inspect.cleandoc(text).split("\n")
    cut = next((i for i, line in enumerate(lines) if HAN.search(line)), len(lines))
    return {"en": "\n".join(lines[:cut]).strip(), "zh-Hans": "\n".join(lines[cut:]).strip()}


def paragraphs(text: str) -> list[str]:
    """Split one part of a docstring, in any language, into paragraphs: each argument and each result has its own."""
    return re.split(r"\n\n+", re.sub(_BEGINS, "\n\n", text, flags=re.A))


def about(paragraph: str) -> list[str]:
    """Return the arguments or results that a paragraph describes."""
    head = re.match(_HEAD, paragraph, re.A)
    return re.split(", | and |、", head[1]) if head else []


def kind(paragraph: str) -> str:
    """Return the subject of a paragraph: "x, w" for these arguments or results, "Returns", "Budget", else "…"."""
    word = re.match(r"(Returns\b|返回)|(Budget\b|预算)", paragraph)
    return ", ".join(about(paragraph)) or ("…" if not word else "Returns" if word[1] else "Budget")


def typed(paragraph: str) -> set[str]:
    """Return the shapes with a dtype that a paragraph states, and the layouts: `f32[n, m]`, `P("x", None)`."""
    return set(re.findall(_TYPED, " ".join(paragraph.split()), re.A))


def markdown(text: str, names: list[str]) -> str:
    """Turn one part of a docstring into Markdown: a paragraph for each argument and result, and code marked as code.

    names: the function's arguments. They and the results are marked as code in the lines that describe them and, in
    Chinese, everywhere.
    """
    blocks = paragraphs(text)
    names = [*names, *(name for each in blocks for name in about(each))]
    chosen = names if HAN.search(text) else [n for n in names if len(n) == 1]  # English has words such as «batch»

    def as_code(m: re.Match[str]) -> str:
        word = m["word"] or m["listed"]
        plain = m[0].startswith("`") or (word and word not in (names if m["listed"] else chosen))
        return m[0] if plain else f"`{m[0]}`"

    def marked(paragraph: str) -> str:
        head = re.match(_HEAD, paragraph, re.A)
        end = head.end(1) if head else 0
        named = re.sub(r"\b(?!and\b)\w+", r"`\g<0>`", paragraph[:end], flags=re.A)
        return named + re.sub(_CODE_OR_WORD, as_code, paragraph[end:], flags=re.A)

    return "\n\n".join(map(marked, blocks))


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """Return the public top-level functions of a Python file, in order. Raises OSError or SyntaxError."""
    return {**_public(path.read_text("utf-8"), str(path))}


@functools.lru_cache(256)  # asked for several times an exercise
def _public(text: str, name: str) -> dict[str, ast.FunctionDef]:
    body = ast.parse(text, name).body
    return {n.name: n for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}


def parameters(path: Path, name: str) -> list[str]:
    """Return the names of a function's parameters; empty if the file cannot be read or lacks the function."""
    try:
        node = functions(path).get(name)
    except (OSError, SyntaxError):
        return []
    return [arg.arg for arg in node.args.args] if node else []


def nearest(parts: Mapping[str, str], lang: str) -> str:
    """Return the text in a language, else in the nearest that exists; empty if there is none."""
    return pick({key: text for key, text in parts.items() if text}, lang, "")


def chinese(blanks: Path) -> dict[str, dict[str, str | list[str]]]:
    """Return the Chinese texts in a file of blanks, by exercise, and for the file itself as `FILE`.

    `statement` is the docstring's part, one line per paragraph; `comments` are the comments in the code.
    """
    tree, statements = ast.parse(blanks.read_text("utf-8")), {}
    for node in [tree, *_functions(tree)]:
        said: dict[str, str | list[str]] = {}
        if part := split_docstring(ast.get_docstring(node) or "")["zh-Hans"]:
            said["statement"] = joined("\n\n".join(paragraphs(part)))
        if isinstance(node, ast.FunctionDef):
            parts = [comment.parts["zh-Hans"] for comment in code_comments(blanks, node)]
            if any(parts):
                said["comments"] = parts
        if said:
            statements[getattr(node, "name", FILE)] = said
    return statements


@dataclass(frozen=True)
class Comment:
    """A comment in the code of a blank, in English, then in Chinese: lines [first, end), the parts without their #."""

    first: int
    end: int
    parts: dict[str, str]


def code_comments(blanks: Path, node: ast.FunctionDef) -> list[Comment]:
    """Return the comments in a blank's code that have lines of their own, in order."""
    return _comments(blanks.read_text("utf-8").split("\n")[_begin(node) : node.end_lineno])


def _comments(lines: list[str]) -> list[Comment]:
    comments: list[Comment] = []
    first = 0
    while first < len(lines):
        end = first
        while end < len(lines) and lines[end].lstrip().startswith("#"):
            end += 1
        if end > first:
            text = [line.strip().removeprefix("#").strip() for line in lines[first:end]]
            cut = next((i for i, line in enumerate(text) if HAN.search(line)), len(text))
            parts = {"en": "\n".join(text[:cut]), "zh-Hans": joined("\n".join(text[cut:]))}
            comments.append(Comment(first, end, parts))
        first = end + 1
    return comments


def blanks_in(blanks: Path, lang: str) -> str:
    """Return the text of a file of blanks as a learner gets it, in this language only or the nearest that exists.

    In the file's own docstring, a sentence that the file is the learner's replaces the paragraph about answers/.
    """
    text = blanks.read_bytes().decode("utf-8")
    end = "\r\n" if "\r\n" in text else "\n"
    lines, texts = text.replace("\r\n", "\n").split("\n"), lesson_words(blanks.parent)
    tree = ast.parse(text)
    if lang != "en":  # the code of a warning is nobody's language
        lines = [re.sub(r"(# noqa: [A-Z0-9, ]+\w) \(.*\)$", r"\1", line) for line in lines]
    for node in reversed([tree, *_functions(tree)]):
        translation = texts.get(getattr(node, "name", FILE), ExerciseWords())
        if isinstance(node, ast.FunctionDef):
            first = _begin(node)
            lines[first : node.end_lineno] = code_in(lines[first : node.end_lineno], lang, translation)
        if ast.get_docstring(node):
            doc = node.body[0]
            first, last = doc.lineno - 1, doc.end_lineno or doc.lineno
            lines[first:last] = _docstring(lines[first:last], lang, translation, of_file=isinstance(node, ast.Module))
    return end.join(lines)


def code_in(lines: list[str], lang: str, translation: ExerciseWords = NOTHING) -> list[str]:
    """Return a function's lines with its comments in one language only. translation: has what the code does not."""
    lines = list(lines)
    for number, comment in reversed([*enumerate(_comments(lines))]):
        other = {key: texts[number] for key, texts in translation.comments.items() if number < len(texts)}
        indent = re.match(r" *", lines[comment.first])[0]  # type: ignore[index]
        text = nearest(comment.parts | other, lang)
        lines[comment.first : comment.end] = [f"{indent}# {line}" for line in wrapped(text, _WIDTH - len(indent))]
    return lines


def _docstring(source: list[str], lang: str, translation: ExerciseWords, of_file: bool) -> list[str]:
    """Return the lines of a docstring in one language only. of_file: whether it is the file's own."""
    match = re.fullmatch(r'( *)([rRuU]?)("""|\'\'\'|"|\')(.*)\3', "\n".join(source), re.DOTALL)
    if not match:
        return source
    indent, prefix, quotes, body = match.groups()
    parts = split_docstring(body)
    raw = "r" in prefix.lower()
    other = {key: text if raw else text.replace("\\", r"\\") for key, text in translation.statement.items() if text}
    text = nearest(parts | other, lang)
    lines = text.split("\n") if text in parts.values() else wrapped(text, _WIDTH - len(indent) - len(quotes))
    if of_file:
        paragraphs = "\n".join(lines).split("\n\n")
        mine = "\n".join(wrapped(say("answers-yours", lang), _WIDTH))
        lines = "\n\n".join(mine if "answers/" in part else part for part in paragraphs).split("\n")
    lines[0] = prefix + quotes + lines[0]
    if len(lines) == 1:
        return [indent + lines[0] + quotes]
    return [indent + line if line else "" for line in [*lines, quotes]]


def _begin(node: ast.FunctionDef) -> int:
    """Return how many lines of the file come before the function's code, its docstring included."""
    return (node.body[0].end_lineno or node.lineno) if ast.get_docstring(node) else node.lineno


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def wrapped(text: str, width: int) -> list[str]:
    """Wrap text into lines of at most `width` columns; a Chinese character takes two."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, used = "", 0
        for piece in re.findall(
            rf"(?:`[^`]*`|(?:(?!{_WIDE})[^\s`])+|.)[，。：；！？、）」”]*", paragraph
        ):  # none begins a line
            size = sum(2 if re.match(_WIDE, c) else 1 for c in piece)
            if used + size > width and line:
                lines.append(line.rstrip())
                line, used = "", 0
            if line or not piece.isspace():
                line, used = line + piece, used + size
        lines.append(line.rstrip())
    return lines


def joined(text: str) -> str:
    """Join each paragraph into one line, for a screen of any width, without spaces between lines of Chinese."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", re.sub(_BETWEEN_WIDE, "", text))


def statement(lessons: Path, exercise: str, lang: str) -> str:
    """Return the statement of `ch03_sharding.read_layout` as Markdown, each paragraph in one line.

    If there is none in this language, it is in the nearest one.
    """
    lesson, _, name = exercise.partition(".")
    node = functions(lessons / lesson / "exercises.py")[name]
    parts = split_docstring(ast.get_docstring(node) or "")
    text = nearest(parts | dict(exercise_words(lessons, exercise).statement), lang)
    return joined(markdown(text, [a.arg for a in node.args.args]))
