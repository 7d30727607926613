"""What the outputs of a page can depend on: the modules and programs of this repository that its cells reach.

Read from the code, never imported: `import` and `from … import` anywhere in it, and strings that name a module
("minipod.cluster.inside", which is started with -m) or a file beside the code or in the lesson ("hello.py",
"recorded.json").
"""

import ast
import functools
import hashlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from publish.page import Page

OURS = ("minipod", "grader", "lessons")
TOOLS = ("minipod", "grader")
HAVE_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
DESK = Path("lessons", "__init__.py")  # hands readers of notebooks to the checker; no cell's output is made there
DOTTED = tuple(f"{name}." for name in OURS)

_PARSING = threading.Lock()  # Python 3.11's parser counts its depth for all threads together


@dataclass(frozen=True)
class Mentioned:
    """What a piece of code names. `modules`: dotted names, those of relative imports with their dots in front."""

    modules: frozenset[str]
    strings: frozenset[str]


def reached(page: Page, root: Path) -> list[Path]:
    """The files that the cells of a page import, start or read by name, and what those reach in turn; in order."""
    lesson = root / "lessons" / page.path.stem
    found: set[Path] = set()
    todo = [path for cell in page.cells for path in _named(_mentioned(_code(cell.body)), lesson, lesson, root)]
    while todo:
        if (path := todo.pop()) in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            todo += _named(_mentioned_in(path, path.stat().st_mtime_ns), path.parent, lesson, root)
    return sorted(found)


def _code(body: str) -> str:
    """A cell without the line that makes a file of it."""
    return body.partition("\n")[2] if body.startswith("%%") else body


def sum_of(path: Path, root: Path) -> str:
    """A hash of a file. Of the book's tools it is one of the code: docstrings and blank lines do not count."""
    if path.suffix == ".py" and path.relative_to(root).parts[0] in TOOLS:
        return _sum_of_code(path, path.stat().st_mtime_ns)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@functools.cache
def _sum_of_code(path: Path, _changed: int) -> str:
    text = path.read_text("utf-8", "replace")
    lines: list[str] = text.splitlines()
    for node in ast.walk(_tree(text) or ast.Module([], [])):
        if isinstance(node, HAVE_DOCSTRINGS) and ast.get_docstring(node, clean=False) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno or 0
            if first > getattr(node, "lineno", 0):  # on lines of its own
                lines[first - 1 : last] = [""] * (last - first + 1)
    return hashlib.sha256("\n".join(line for line in lines if line.strip()).encode()).hexdigest()


@functools.cache
def _mentioned_in(path: Path, _changed: int) -> Mentioned:
    return _mentioned(path.read_text("utf-8", "replace"))


def _tree(code: str) -> ast.Module | None:
    """None for what is no Python: it will fail when it is executed, and say so better."""
    try:
        with _PARSING:
            return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _mentioned(code: str) -> Mentioned:
    modules, strings = set(), set()
    for node in ast.walk(_tree(code) or ast.Module([], [])):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            modules |= {base, *(f"{base}.{a.name}" if node.module else base + a.name for a in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
            strings.add(node.value)
    return Mentioned(frozenset(modules), frozenset(strings))


def _named(what: Mentioned, beside: Path, lesson: Path, root: Path) -> list[Path]:
    """The files of this repository among what is named in code that lies in the folder `beside`."""
    both = {beside, lesson}
    found = [path for folder in both for name in what.strings & _listed(folder) if (path := folder / name).is_file()]
    for name in what.modules | {text for text in what.strings if text.startswith(DOTTED)}:
        bare = name.lstrip(".")
        if up := len(name) - len(bare):
            found += _files([beside, *beside.parents][up - 1], bare)
        elif name.partition(".")[0] in OURS:
            found += [path for path in _files(root, name) if path != root / DESK]
        else:  # a program imports its neighbours by their bare names
            found += [path for folder in both for path in _files(folder, name)]
    return found


def _files(folder: Path, dotted: str) -> list[Path]:
    """The file of a module and those of the packages around it; nothing for what is no module there."""
    found, at = [], folder
    for part in filter(None, dotted.split(".")):
        there = _listed(at)
        found += [at / f"{part}.py"] if f"{part}.py" in there else []
        if part not in there:
            break
        at /= part
        found += [at / "__init__.py"] if "__init__.py" in _listed(at) else []
    return found


def _listed(folder: Path) -> frozenset[str]:
    """What lies in a folder; nothing where there is none."""
    try:
        return _names(folder, folder.stat().st_mtime_ns)
    except OSError:
        return frozenset()


@functools.cache
def _names(folder: Path, _changed: int) -> frozenset[str]:
    return frozenset(os.listdir(folder))
