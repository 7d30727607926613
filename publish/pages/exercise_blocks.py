"""An exercise as a page shows it: statement, blank, hints and the folded solution, pulled from the lesson."""

import ast
import tomllib
from pathlib import Path

from grader.exercise import languages
from grader.exercise.statements import code_in, functions, markdown


def code_without_docstring(path: Path, name: str) -> str:
    """The source of one function, decorators included, its docstring left out."""
    lines, node = path.read_text("utf-8").split("\n"), functions(path)[name]
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
    keep = lines[first : node.end_lineno]
    if ast.get_docstring(node) is not None:
        doc = node.body[0]
        del keep[doc.lineno - 1 - first : (doc.end_lineno or doc.lineno) - first]
    return "\n".join(keep).rstrip()


def block(root: Path, chapter: str, name: str, number: int, edition: str, ui: dict[str, dict[str, str]]) -> str:
    """The Markdown between `% exercise: name` and `% end exercise`. ValueError says what the lesson lacks."""
    blanks, solved = root / "lessons" / chapter / "exercises.py", root / "solutions" / f"{chapter}.py"
    for path in (blanks, solved):
        if not path.exists() or name not in functions(path):
            raise ValueError(f"exercise «{name}»: {path.relative_to(root)} has no function of that name")
    words = root / "lessons" / chapter / "words.toml"
    table = tomllib.loads(words.read_text("utf-8")).get(name, {}) if words.exists() else {}
    where = f"exercise «{name}»: {words.relative_to(root)}"
    try:
        asked, language = languages.statement(functions(blanks)[name], edition)
    except KeyError:
        raise ValueError(f"exercise «{name}»: in {blanks.relative_to(root)} it has no docstring") from None
    used = {language}

    def text(key: str):
        try:
            found, language = languages.either(table.get(key, {}), edition)
        except KeyError:
            raise ValueError(f"{where}: {key}.{edition} is missing") from None
        used.add(language)
        return found

    title, hints = text("title"), text("hints")
    parts = [
        f"({label(name)})=",
        f"::::{{admonition}} {ui['exercise'][edition]} {number} · {title}",
        ":class: exercise",
        "",
        *([] if used == {edition} else [f"*{ui['only_other'][edition]}*", ""]),
        markdown(asked, [a.arg for a in functions(blanks)[name].args.args]),
        "",
        "\n".join(["```python", *code_in(code_without_docstring(blanks, name).split("\n"), edition), "```"]),
        "",
        ui["where"][edition].format(chapter=chapter, name=name),
    ]
    for i, hint in enumerate(hints, 1):
        parts += ["", f":::{{dropdown}} {ui['hint'][edition]} {i}", hint.strip(), ":::"]
    parts += ["", f":::{{dropdown}} {ui['solution'][edition]}"]
    parts += [f"```python\n{code_without_docstring(solved, name)}\n```", ":::", "::::"]
    return "\n".join(parts)


def label(name: str) -> str:
    """The label of an exercise, the same in every edition: a progress line of `pytest lessons/` can link to it."""
    return "ex-" + name.replace("_", "-")
