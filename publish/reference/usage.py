"""Find the names of JAX and of minipod that a page's cells, programs and exercises use, and the sections."""

import ast
import functools
import re
from pathlib import Path

from publish.page import ROOT, read_page, written
from publish.reference import places
from publish.reference.places import Edition

ROOTS = ("jax", "minipod")
Uses = dict[str, list[tuple[str, str]]]  # dotted name → page and label of each section, in the book's order


def used(edition: Edition) -> Uses:
    """Return the names on the edition's pages. Code and labels are the same in every edition, so English is read."""
    uses: Uses = {}
    for source in edition.sources:
        english = written(source.name, "en")
        for name, label in _of_page(english, read_page(english).text):
            places_of = uses.setdefault(name, [])
            if (source.name, label) not in places_of:
                places_of.append((source.name, label))
    return uses


@functools.cache
def _of_page(path: Path, text: str) -> list[tuple[str, str]]:
    """Return names with the label of a section, in the order of the page. All cells of a page share their imports."""
    page, names = read_page(path), []
    pieces = [(cell.first, cell.body, cell.kind == "program") for cell in page.cells]
    blanks = ROOT / "lessons" / page.path.stem / "exercises.py"
    functions = _functions(blanks.read_text("utf-8")) if page.exercises and blanks.exists() else {}
    pieces += [(e.first + 1, functions[e.name], True) for e in page.exercises if e.name in functions]
    shared: dict[str, str] = {}
    for line, code, alone in sorted(pieces):
        if code.startswith("%%writefile"):
            code = code.partition("\n")[2]
        where = places.of(page, line)
        names += [(name, where) for name in in_code(code, {} if alone else shared)]
    return names


@functools.cache
def _functions(text: str) -> dict[str, str]:
    """Return each function of a file of blanks, below the imports of the file."""
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    above = "\n".join(ast.unparse(node) for node in imports)
    return {node.name: f"{above}\n#\n{ast.unparse(node)}" for node in tree.body if isinstance(node, ast.FunctionDef)}


def in_code(code: str, imported: dict[str, str]) -> list[str]:
    """Return the dotted names of ROOTS that a piece of code uses, each once, in order.

    imported: local name → its full name; imports in the code are added. A module counts only through the names that
    are used from it; an imported name counts as soon as it is used.
    """
    tree = ast.parse(re.sub(r"(?m)^[%!].*$", "", code))
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                imported[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    used, inner = [], set()
    for node in ast.walk(tree):
        if id(node) in inner:
            continue
        chain, at = [], node
        while isinstance(at, ast.Attribute):
            inner.add(id(at.value))
            chain.append(at.attr)
            at = at.value
        if isinstance(at, ast.Name) and at.id in imported and not (at.id in assigned and isinstance(node, ast.Name)):
            name = ".".join([imported[at.id], *reversed(chain)])
            if name.split(".")[0] in ROOTS and "__" not in name:
                used.append(name)
    return list(dict.fromkeys(used))
