"""Show an exercise on a page: statement, blank, hints and the folded solution, taken from the lesson."""

import functools
import re
import tomllib
from pathlib import Path

from grader.exercise.function_text import without_docstring
from grader.exercise.statements import code_in, functions, markdown
from publish import languages

_words = functools.cache(tomllib.loads)  # a chapter's exercises share them


def block(root: Path, chapter: str, name: str, number: int, edition: str, ui: dict[str, dict[str, str]]) -> str:
    """Return the Markdown between `% exercise: name` and `% end exercise`. Raises ValueError if a part is missing."""
    blanks, solved = root / "lessons" / chapter / "exercises.py", root / "solutions" / f"{chapter}.py"
    for path in (blanks, solved):
        if not path.exists() or name not in functions(path):
            raise ValueError(f"exercise `{name}`: {path.relative_to(root)} has no function of that name")
    path = root / "lessons" / chapter / "words.toml"
    table = _words(path.read_text("utf-8")).get(name, {}) if path.exists() else {}
    where = f"exercise `{name}`: {path.relative_to(root)}"
    try:
        asked, language = languages.statement(functions(blanks)[name], edition)
    except KeyError:
        raise ValueError(f"exercise `{name}`: in {blanks.relative_to(root)} it has no docstring") from None
    used = {language}

    def text(key: str):
        try:
            content, language = languages.either(table.get(key, {}), edition)
        except KeyError:
            raise ValueError(f"{where}: {key}.{edition} is missing") from None
        used.add(language)
        return content

    title, hints = text("title"), text("hints")
    parts = [
        f"({label(name)})=",
        f"::::{{admonition}} {ui['exercise'][edition]} {number} · {title}",
        ":class: exercise",
        "",
        *([] if used == {edition} else [ui["only_other"][edition], ""]),
        markdown(asked, [a.arg for a in functions(blanks)[name].args.args]),
        "",
        "\n".join(["```python", *code_in(without_docstring(blanks, name).split("\n"), edition), "```"]),
        "",
        ui["where"][edition].format(chapter=chapter, name=name),
    ]
    for i, hint in enumerate(hints, 1):
        parts += ["", f":::{{dropdown}} {ui['hint'][edition]} {i}", hint.strip(), ":::"]
    parts += ["", f":::{{dropdown}} {ui['solution'][edition]}"]
    parts += [f"```python\n{without_docstring(solved, name)}\n```", ":::", "::::"]
    return "\n".join(parts)


def split(text: str, then: str) -> list[tuple[str, str]]:
    """Return each exercise of a page's Markdown with the text above it; last, the text after them: ("", text).

    Blank, hints and solution, which a notebook has in cells, are replaced by the sentence `then`.
    """
    parts, at = [], 0
    for m in re.finditer(r"(?ms)^% exercise: *(\w+) *$\n(.*?)^% end exercise *$\n?", text):
        asked = m[2].partition("\n```python\n")[0].rstrip()
        parts.append((m[1], f"{text[at : m.start()]}{asked}\n\n{then}\n::::"))
        at = m.end()
    return [*parts, ("", text[at:])]


def label(name: str) -> str:
    """Return an exercise's label, which is the same in every edition, so that `pytest lessons/` can link to it."""
    return "ex-" + name.replace("_", "-")
