"""Find the programs and data of the lessons that the cells of a page, or a recorder, use.

The code is read, not imported. What counts is `import` and `from … import` anywhere in it, and strings that name a
module ("lessons.ch13_network.wire") or a file: next to the code or in the lesson ("hello.py", "recorded.json"), or
anywhere ("lessons/ch15_pods/published.json"). The tools are left out: `make verify` finds out whether they still
give the same outputs.
"""

import ast
import functools
import hashlib
import os
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from publish.kept import kept
from publish.page import Page

SAID = ("lessons", "solutions")
TOOLS = ("minipod", "grader")
ROOMS = (*SAID, *TOOLS)
DESK = Path("lessons", "__init__.py")  # connects notebooks with the checker; no cell's output comes from it

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_PARSING = threading.Lock()  # Python 3.11's parser counts its depth for all threads together


@dataclass(frozen=True)
class Mentioned:
    """The names in a piece of code. modules: dotted names; those of relative imports begin with their dots."""

    modules: frozenset[str]
    strings: frozenset[str]


def reached(page: Page, root: Path, rooms: tuple[str, ...] = SAID) -> list[Path]:
    """Return the files in these rooms that the cells of a page import, start or read by name, directly or not."""
    lesson = root / "lessons" / page.path.stem
    named = [path for cell in page.cells for path in _named(_mentioned(_code(cell.body)), lesson, lesson, root, rooms)]
    return reached_from(named, lesson, root, rooms)


def reached_from(files: list[Path], lesson: Path, root: Path, rooms: tuple[str, ...] = SAID) -> list[Path]:
    """Return these files, and all files that they import, start or read by name, in order."""
    reached_files, todo = set[Path](), list(files)
    while todo:
        if (path := todo.pop()) in reached_files:
            continue
        reached_files.add(path)
        todo += named_in(path, lesson, root, rooms)
    return sorted(reached_files)


def named_in(path: Path, lesson: Path, root: Path, rooms: tuple[str, ...] = SAID) -> list[Path]:
    """Return the files that a program imports, starts or reads by name; none for a file that is not a program."""
    if path.suffix != ".py":
        return []
    return _named(_mentioned(path.read_text("utf-8", "replace")), path.parent, lesson, root, rooms)


def sums_of(files: set[Path], root: Path, contents: Callable[[Path], bytes] = Path.read_bytes) -> dict[str, str]:
    """Return a hash of each file, by its path in the repository. contents: the part of a file that counts."""
    return {path.relative_to(root).as_posix(): sum_of(contents(path)) for path in sorted(files)}


def sum_of(data: bytes) -> str:
    """Return the hash of a file that a recording keeps."""
    return hashlib.sha256(data).hexdigest()[:20]


def without_docstrings(path: Path) -> bytes:
    """Return the contents of a file; in a program, empty lines replace docstrings, which change no output."""
    data = path.read_bytes()
    if path.suffix != ".py" or (tree := _tree(text := data.decode("utf-8", "replace"))) is None:
        return data
    lines = text.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            first, last = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
            if not lines[first][: docstring.col_offset].strip():  # not in the line of `def`
                lines[first:last] = [""] * (last - first)
    return "\n".join(lines).encode()


def changed_since(commit: str, root: Path) -> set[str]:
    """Return files that differ from a commit, and those new to git. Raises ValueError for an unknown commit."""
    names: set[str] = set()
    for command in ["diff", "--name-only", commit, "--"], ["ls-files", "--others", "--exclude-standard"]:
        done = subprocess.run(["git", "-c", "core.quotePath=off", *command], cwd=root, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"git cannot compare with “{commit}”: {done.stderr.strip().splitlines()[0]}")
        names |= set(done.stdout.splitlines())
    return names


def _code(body: str) -> str:
    """Return the code of a cell, without the line %%writefile."""
    return body.partition("\n")[2] if body.startswith("%%") else body


def strings_in(path: Path) -> frozenset[str]:
    """Return the short strings of a program; none for a file that is not a program."""
    return _mentioned(path.read_text("utf-8", "replace")).strings if path.suffix == ".py" else frozenset()


def _tree(code: str) -> ast.Module | None:
    """Return the syntax tree; None for text that is not Python: executing it gives a better message."""
    try:
        with _PARSING:
            return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


@kept
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


def _named(what: Mentioned, beside: Path, lesson: Path, root: Path, rooms: tuple[str, ...]) -> list[Path]:
    """Return the files of this repository among the names in a piece of code in the folder `beside`."""
    both = {beside, lesson}
    paths = [path for folder in both for name in what.strings & _listed(folder) if (path := folder / name).is_file()]
    paths += [path for text in what.strings if text.partition("/")[0] in rooms and (path := root / text).is_file()]
    for name in what.modules | {text for text in what.strings if text.partition(".")[0] in rooms and "." in text}:
        bare = name.lstrip(".")
        if up := len(name) - len(bare):
            paths += _files([beside, *beside.parents][up - 1], bare)
        elif name.partition(".")[0] in rooms:
            paths += [path for path in _files(root, name) if path != root / DESK]
        else:  # a program imports its neighbours by their bare names
            paths += [path for folder in both for path in _files(folder, name)]
    return paths


def _files(folder: Path, dotted: str) -> list[Path]:
    """Return the file of a module and those of the packages around it; nothing if there is no such module."""
    paths, at = [], folder
    for part in filter(None, dotted.split(".")):
        names = _listed(at)
        paths += [at / f"{part}.py"] if f"{part}.py" in names else []
        if part not in names:
            break
        at /= part
        paths += [at / "__init__.py"] if "__init__.py" in _listed(at) else []
    return paths


def _listed(folder: Path) -> frozenset[str]:
    """Return the contents of a folder; nothing if it does not exist."""
    try:
        return _names(folder, folder.stat().st_mtime_ns)
    except OSError:
        return frozenset()


@functools.cache
def _names(folder: Path, _changed: int) -> frozenset[str]:
    return frozenset(os.listdir(folder))
