"""Document minipod's public names from signatures and docstrings, without importing; `minipod.PUBLIC` lists them."""

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import minipod
from publish.page import ROOT
from publish.reference.places import Edition
from publish.reference.usage import used

PACKAGE = ROOT / "minipod"
_FIELDS = re.compile(r"(\w[\w.*, ]*?) {2,}(\S.*)")


@dataclass(frozen=True)
class Entry:
    """A public name of a module. name: with dots. doc: the docstring, "" for a constant."""

    name: str
    signature: str
    doc: str

    @property
    def is_class(self) -> bool:
        return self.signature.startswith("class ")


@dataclass(frozen=True)
class Module:
    """A public module and its public names."""

    name: str
    doc: str
    entries: list[Entry]


def lines(edition: Edition) -> Iterator[str]:
    """Yield the page: for each module, its docstring and its functions and classes, with the sections that use them."""
    uses = used(edition)
    for module in modules():
        yield f"({label(module.name)})="
        yield f"## `{module.name}`"
        yield ""
        yield from _markdown(module.doc)
        yield ""
        for entry in module.entries:
            yield f"({labels()[entry.name]})="
            yield f"### `{entry.name.removeprefix('minipod.')}`"
            yield ""
            yield f"```python\n{entry.signature}\n```"
            yield ""
            yield from _markdown(entry.doc)
            yield ""
            if where := uses.get(entry.name):
                yield edition.words("toolkit_used").format(edition.links(where))
                yield ""


def label(name: str, kind: str = "api") -> str:
    return f"{kind}-" + name.replace(".", "-").replace("_", "-").lower()


@functools.cache
def labels() -> dict[str, str]:
    """Return the label of each entry, by dotted name. Labels have no capitals, yet `Run` and `run` differ."""
    return {e.name: label(e.name, "class" if e.is_class else "api") for module in modules() for e in module.entries}


@functools.cache
def modules() -> list[Module]:
    """Return the modules of `minipod.PUBLIC`, each with the names in its `__all__`."""
    public_modules = []
    for name in minipod.PUBLIC:
        path = PACKAGE / f"{name}.py"
        tree = ast.parse((path if path.exists() else PACKAGE / name / "__init__.py").read_text("utf-8"))
        nodes = tree.body if path.exists() else _offered(tree)
        public = next(
            ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign) and _name(n) == "__all__"
        )
        entries = [_entry(f"minipod.{name}", node) for node in nodes if _name(node) in public]
        public_modules.append(Module(f"minipod.{name}", ast.get_docstring(tree) or "", entries))
    return public_modules


def _name(node: ast.AST) -> str:
    """Return the name of a function, a class or a constant."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    target = (
        node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
    )
    return target.id if isinstance(target, ast.Name) else ""


def _offered(init: ast.Module) -> Iterator[ast.AST]:
    """Yield the functions, classes and constants that a package's __init__ imports from its modules, in order."""
    for node in ast.walk(init):  # in some packages they are below `if TYPE_CHECKING`
        if isinstance(node, ast.ImportFrom) and node.module:
            path = ROOT / Path(*node.module.split(".")).with_suffix(".py")
            if not path.exists():
                continue
            definitions = {_name(n): n for n in ast.parse(path.read_text("utf-8")).body}
            yield from (definitions[alias.name] for alias in node.names if alias.name in definitions)


def _entry(module: str, node: ast.AST) -> Entry:
    name = _name(node)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return Entry(f"{module}.{name}", _signature(node), ast.get_docstring(node) or "")
    text = ast.unparse(node)
    return Entry(f"{module}.{name}", text if len(text) <= 80 else f"{text.partition(' = ')[0]} = ...", "")


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return the signature in one line or, if it would be long, one line for each parameter."""
    if isinstance(node, ast.ClassDef):
        fields = [ast.unparse(n) for n in node.body if isinstance(n, ast.AnnAssign) and not _hidden(n)]
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
        inside = [*fields, *(_signature(n) for n in methods)]
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        head = f"class {node.name}({bases})" if bases else f"class {node.name}"
        return "\n".join([head, *(f"    {line}" for text in inside for line in text.split("\n"))])
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"def {node.name}({ast.unparse(node.args)}){returns}"
    is_property = any(isinstance(d, ast.Name) and d.id in ("property", "cached_property") for d in node.decorator_list)
    if is_property and node.returns:
        return f"{node.name}: {ast.unparse(node.returns)}"
    if len(text) <= 80:
        return text
    parts, depth, start = [], 0, text.index("(") + 1
    at = start
    for i in range(start, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth < 0:
            parts.append(text[at:i].strip())
            return "\n".join([text[:start], *(f"    {part}," for part in parts if part), text[i:]])
        if text[i] == "," and depth == 0:
            parts.append(text[at:i].strip())
            at = i + 1
    return text


def _hidden(node: ast.AnnAssign) -> bool:
    return isinstance(node.target, ast.Name) and node.target.id.startswith("_")


def _markdown(doc: str) -> Iterator[str]:
    """Yield a docstring as Markdown: paragraphs, code that is indented, and lists of fields `name   what it is`."""
    for block in re.split(r"\n\s*\n", doc.strip()) if doc else []:
        rows = block.split("\n")
        if all(row.startswith("    ") for row in rows):
            kind = "pycon" if rows[0].startswith("    >>> ") else "python"
            yield from (f"```{kind}", *(row[4:] for row in rows), "```", "")
        elif all(_FIELDS.fullmatch(row) or row[0] == " " for row in rows) and rows[0][0] != " ":
            for row in rows:
                m = _FIELDS.fullmatch(row)
                yield f"- `{m[1].strip()}`: {_text(m[2])}" if m else f"  {_text(row.strip())}"
            yield ""
        else:
            yield _text(" ".join(row.strip() for row in rows))
            yield ""


def _text(text: str) -> str:
    """Return the prose of a docstring with Markdown's special characters escaped outside code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_{}\[\]<>$#|~])", r"\\\1", piece) for piece in pieces
    )
