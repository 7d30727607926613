"""An exercise as a page shows it: statement, blank, hints and the folded solution, pulled from the lesson."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

HAN = re.compile(r"[\u3400-\u9fff]")


def split_docstring(text: str) -> dict[str, str]:
    """English and Chinese part of a docstring: the Chinese part starts at the first line that has a Han character."""
    lines = inspect.cleandoc(text).split("\n")
    cut = next((i for i, line in enumerate(lines) if HAN.search(line)), len(lines))
    return {"en": "\n".join(lines[:cut]).strip(), "zh-Hans": "\n".join(lines[cut:]).strip()}


_CODE = re.compile(
    r"`[^`]*`"  # is code already
    r'|"[^"\n\u3400-\u9fff]*"'  # "x"
    r"|\b[a-z]\w*\[[^\]]*\]|\[[^\]\u3400-\u9fff]*\]"  # f32[N, features], [N, features]
    r"|\b[A-Za-z]\w*(?:\.\w+)*\([^()\u3400-\u9fff]*\)|\b[A-Za-z]\w*(?:_\w+|\.\w+)+",  # P('x'), num_devices, jax.P
    re.A,
)
_ITEM = re.compile(r"(?<=[^\n])\n(?=[a-z_]\w*(?:(?:,| and) [a-z_]\w*)*: )", re.A)


def statement(text: str, names: list[str]) -> str:
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
    """The public top-level functions of a Python file, in order."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    return {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")}


def code_without_docstring(path: Path, name: str) -> str:
    """The source of one function, decorators included, its docstring left out."""
    lines, node = path.read_text("utf-8").split("\n"), functions(path)[name]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
    keep = lines[first : node.end_lineno]
    if ast.get_docstring(node) is not None:
        doc = node.body[0]
        del keep[doc.lineno - 1 - first : (doc.end_lineno or doc.lineno) - first]
    return "\n".join(keep).rstrip()


def _text(table: dict, key: str, edition: str, where: str):
    try:
        return table[key][edition]
    except KeyError:
        raise ValueError(f"{where}: {key}.{edition} is missing") from None


def block(root: Path, chapter: str, name: str, number: int, edition: str, ui: dict[str, dict[str, str]]) -> str:
    """The Markdown between `% exercise: name` and `% end exercise`. ValueError says what the lesson lacks."""
    blanks, solved = root / "lessons" / chapter / "exercises.py", root / "solutions" / f"{chapter}.py"
    for path in (blanks, solved):
        if not path.exists() or name not in functions(path):
            raise ValueError(f"exercise «{name}»: {path.relative_to(root)} has no function of that name")
    words = root / "lessons" / chapter / "words.toml"
    table = tomllib.loads(words.read_text("utf-8")).get(name, {}) if words.exists() else {}
    where = f"exercise «{name}»: {words.relative_to(root)}"
    words_of_it = split_docstring(ast.get_docstring(functions(blanks)[name]) or "")[edition]
    if not words_of_it:
        raise ValueError(f"exercise «{name}»: its docstring in {blanks.relative_to(root)} has no part for {edition}")
    parts = [
        f"({label(name)})=",
        f"::::{{admonition}} {ui['exercise'][edition]} {number} · {_text(table, 'title', edition, where)}",
        ":class: exercise",
        "",
        statement(words_of_it, [a.arg for a in functions(blanks)[name].args.args]),
        "",
        f"```python\n{code_without_docstring(blanks, name)}\n```",
        "",
        ui["where"][edition].format(chapter=chapter, name=name),
    ]
    for i, hint in enumerate(_text(table, "hints", edition, where), 1):
        parts += ["", f":::{{dropdown}} {ui['hint'][edition]} {i}", hint.strip(), ":::"]
    parts += ["", f":::{{dropdown}} {ui['solution'][edition]}"]
    parts += [f"```python\n{code_without_docstring(solved, name)}\n```", ":::", "::::"]
    return "\n".join(parts)


def label(name: str) -> str:
    """The label of an exercise, the same in every edition: a progress line of `pytest lessons/` can link to it."""
    return "ex-" + name.replace("_", "-")
