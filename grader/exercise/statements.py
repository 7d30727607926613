"""An exercise's statement: the docstring of its blank, in the reader's language, as Markdown."""

import ast
import inspect
import re
from pathlib import Path

from grader.exercise.lesson_words import ExerciseWords, exercise_words, lesson_words

HAN = re.compile(r"[\u3400-\u9fff]")
FILE = "this file"  # stands for the exercise's name where the words are about all of them
_WIDE = r"[\u2e80-\u9fff\uff00-\uffef\u3000-\u303f“”‘’]"
_BETWEEN_WIDE = re.compile(rf"(?<={_WIDE})\n(?={_WIDE})|(?<=[，。：；？！、（])\n(?!\n)")
_CODE = re.compile(
    r"`[^`]*`"  # is code already
    r'|"[^"\n\u3400-\u9fff]*"'  # "x"
    r"|\b[a-z]\w*\[[^\]]*\]|\[[^\]\u3400-\u9fff]*\]"  # f32[N, features], [N, features]
    r"|(?:(?<=Returns )|(?<=返回 ))\([^()]*\)"  # Returns (padded, back)
    r"|\b[A-Za-z]\w*(?:\.\w+)*\((?:[^()\u3400-\u9fff]|\([^()\u3400-\u9fff]*\))*\)"  # P('x'), P(('x', 'y'), None)
    r"|\b[A-Za-z]\w*(?:_\w+|\.\w+)+",  # num_devices, jax.P
    re.A,
)
_ITEM = re.compile(r"(?<=[.。：])\n(?=[a-z_]\w*(?:(?:,| and) [a-z_]\w*)*: )", re.A)


def split_docstring(text: str) -> dict[str, str]:
    """English and Chinese part of a docstring: the Chinese part starts at the first line that has a Han character."""
    lines = inspect.cleandoc(text).split("\n")
    cut = next((i for i, line in enumerate(lines) if HAN.search(line)), len(lines))
    return {"en": "\n".join(lines[:cut]).strip(), "zh-Hans": "\n".join(lines[cut:]).strip()}


def markdown(text: str, names: list[str]) -> str:
    """A docstring's part as Markdown: arguments and «Returns» as paragraphs of their own, what looks like code as code.

    `names` are the function's arguments: code where a list of arguments names them and, in Chinese, everywhere.
    """
    text = re.sub(r"(?m)(?<=[^\n])\n(?=Returns\b|Budget\b)", "\n\n", text)
    text = _ITEM.sub("\n\n", text)
    chosen = names if HAN.search(text) else [n for n in names if len(n) == 1]  # English has words such as «batch»
    known = "|".join(map(re.escape, chosen)) or "(?!)"
    listed = "|".join(map(re.escape, names)) or "(?!)"
    words = re.compile(rf"{_CODE.pattern}|\b(?:{known})\b|(?m:(?:^|(?<=[,;.] )))(?:{listed})(?=: )", re.A)
    return words.sub(lambda m: m[0] if m[0].startswith("`") else f"`{m[0]}`", text)


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    """The public top-level functions of a Python file, in order. Raises OSError or SyntaxError."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}


def chinese(blanks: Path) -> dict[str, str]:
    """The Chinese statement of the file of blanks, and of each exercise that has one, a line for each paragraph."""
    nodes = {FILE: ast.parse(blanks.read_text("utf-8")), **functions(blanks)}
    parts = {name: split_docstring(ast.get_docstring(node) or "") for name, node in nodes.items()}
    return {name: joined(part["zh-Hans"]) for name, part in parts.items() if part["zh-Hans"]}


def blanks_in(blanks: Path, lang: str) -> str:
    """The text of a file of blanks; for zh-Hant with the derived statements in place of those in zh-Hans.

    Somebody from Taiwan must not read the latter: there a row is 列 and a column 欄.
    """
    text = blanks.read_bytes().decode("utf-8")  # with its line ends as they are
    if lang != "zh-Hant":
        return text
    lines, words = text.split("\n"), lesson_words(blanks.parent)
    tree = ast.parse(text)
    for node in reversed([tree, *functions(blanks).values()]):
        key = FILE if isinstance(node, ast.Module) else node.name
        derived = words.get(key, ExerciseWords()).statement.get("zh-Hant")
        if not derived or not ast.get_docstring(node):
            continue
        doc = node.body[0]  # ends with quotes on a line of their own
        last = (doc.end_lineno or doc.lineno) - 1
        first = next((n for n in range(doc.lineno - 1, last) if HAN.search(lines[n])), last)
        indent = " " * doc.col_offset
        lines[first:last] = [indent + line if line else "" for line in wrapped(derived, 84 - len(indent))]
    return "\n".join(lines)


def wrapped(text: str, width: int) -> list[str]:
    """Chinese text in lines of at most `width` columns, of which a Chinese character takes two."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line, used = "", 0
        for piece in re.findall(r"(?:`[^`]*`|[!-~]+|.)[，。：；！？、）」”]*", paragraph):  # no sign begins a line
            size = sum(2 if re.match(_WIDE, c) else 1 for c in piece)
            if used + size > width and line:
                lines.append(line.rstrip())
                line, used = "", 0
            if line or not piece.isspace():
                line, used = line + piece, used + size
        lines.append(line.rstrip())
    return lines


def joined(text: str) -> str:
    """Each paragraph in one line, as a screen of any width wraps it; no space where two lines of Chinese meet."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", _BETWEEN_WIDE.sub("", text))


def statement(lessons: Path, exercise: str, lang: str) -> str:
    """What `ch03_sharding.read_layout` asks for, as Markdown, each paragraph in one line.

    In the other language where that is all.
    """
    lesson, _, name = exercise.partition(".")
    node = functions(lessons / lesson / "exercises.py")[name]
    parts = split_docstring(ast.get_docstring(node) or "")
    text = parts["en"] or parts["zh-Hans"] if lang == "en" else parts["zh-Hans"] or parts["en"]
    if lang == "zh-Hant":
        text = exercise_words(lessons, exercise).statement.get("zh-Hant", text)
    return joined(markdown(text, [a.arg for a in node.args.args]))
