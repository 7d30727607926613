"""How the house is built, read from its imports: which floor and room stands on which, no circles, nothing undeclared.

ARCHITECTURE.md says why; pyproject.toml declares what is imported from elsewhere.
"""

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

FLOORS = ("minipod", "grader", "solutions", "lessons", "publish")
ROOMS = ("exercise", "see", "judge", "say", "run", "learn", "notebook", "classroom", "author")  # of the grader
OUTSIDE = ("book/_ext", ".ci", "tests")  # import what they like of ours
# The extras of pyproject.toml, minipod's of its own, that a folder may import from, beside the base; what it has not is
# nobody's.
EXTRAS = {
    "minipod": ("pictures", "pods", "testing"),
    "grader": ("class", "learn"),
    "solutions": ("chapters",),
    "lessons": ("chapters", "pods", "launchers", "neighbours", "libraries", "examples"),
    "publish": ("book",),
    "book/_ext": ("book",),
}
NAMES = {"haiku": "dm-haiku"}  # distributions that need not be installed here, by module
# For one recording each, where no extra can bring them: mpi4jax (chapter 14) is built by MPI's compiler, maxtext
# (chapter 15) wants a newer Python and 200 packages, the next two (chapter 20) are on no index, torch (chapter 23) has
# an environment of its own.
BY_HAND = ("mpi4jax", "maxtext", "llama3_jax", "qwen3_jax", "torch")


@dataclass(frozen=True)
class Import:
    """A line of the file `path`, below the root, that imports the module `name`."""

    path: Path
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path.as_posix()}:{self.line}"


def faults(root: Path) -> Iterator[str]:
    """What is not built as it should be, a sentence each."""
    found = {folder: list(_imports(root, folder)) for folder in (*FLOORS, *OUTSIDE)}
    ours = {folder: found[folder] for folder in FLOORS}
    yield from upward(each for imports in ours.values() for each in imports)
    yield from circles(root, [each for imports in ours.values() for each in imports])
    files = {folder: root / folder / "pyproject.toml" for folder in ("", *FLOORS)}
    projects = {
        folder: tomllib.loads(file.read_text("utf-8"))["project"] for folder, file in files.items() if file.exists()
    }
    for folder, imports in found.items():
        declared = [projects.get(folder, projects[""]), *projects.values()]
        yield from undeclared(root, imports, declared, EXTRAS.get(folder))


def upward(imports: Iterable[Import]) -> Iterator[str]:
    """Imports from a floor above, or, inside the grader, from a room above."""
    for each in imports:
        floor, to = each.path.parts[0], each.name.split(".")
        if to[0] in FLOORS and FLOORS.index(to[0]) > FLOORS.index(floor):
            yield f"{each}: {floor} imports {each.name}, which stands above it: {' < '.join(FLOORS)}"
        here, there = _room(each.path.parts), _room(to)
        if each.path.name == "__init__.py" and here < 0:
            continue  # the grader's own names, for the tests of lessons
        if floor == to[0] == "grader" and there > here:
            rooms = f"{ROOMS[here] if here >= 0 else 'grader'} imports {ROOMS[there]}"
            yield f"{each}: {rooms}, which stands above it: {' < '.join(ROOMS)}"


def _room(names: Iterable[str]) -> int:
    """Which room of the grader; -1 is what lies in none of them, under all."""
    _, second, *_ = *names, ""
    return ROOMS.index(second) if second in ROOMS else -1


def circles(root: Path, imports: Iterable[Import]) -> Iterator[str]:
    """Modules that import each other, directly or round about, a sentence a circle."""
    edges: dict[str, set[str]] = {}
    for each in imports:
        own = _module(each.path)
        if (to := _file(root, each.name)) and to != own:
            edges.setdefault(own, set()).add(to)
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> Iterator[str]:
        if module in path:
            yield f"{' → '.join([*path[path.index(module) :], module])}: a circle of imports"
        elif module not in done:
            for to in sorted(edges.get(module, ())):
                yield from visit(to, [*path, module])
            done.add(module)

    for module in sorted(edges):
        yield from visit(module, [])


def undeclared(
    root: Path, imports: Iterable[Import], projects: list[dict], extras: Iterable[str] | None
) -> Iterator[str]:
    """Modules from elsewhere that no dependency of the first project, and none of these extras of it, names.

    projects: that one, then all of the house. extras: None for any of them.
    """
    optional = projects[0].get("optional-dependencies", {})
    known = _brought(projects[0], optional if extras is None else extras, projects)
    told: set[tuple[Path, str]] = set()
    for each in imports:
        top = each.name.partition(".")[0]
        if top in (*sys.stdlib_module_names, *FLOORS, *BY_HAND) or _is_beside(root, each.path, top):
            continue
        brought = {NAMES.get(top, top), *packages().get(top, [])}
        if not known & set(map(_plain, brought)) and (each.path, top) not in told:
            told.add((each.path, top))
            where = (
                "its dependencies and extras" if extras is None else f"its dependencies and extras {', '.join(extras)}"
            )
            yield f"{each}: {top} is imported, and pyproject.toml does not name it among {where}"


def _brought(project: dict, extras: Iterable[str], projects: list[dict]) -> set[str]:
    """The distributions of the dependencies and of these extras, and of those of our own that they name in turn."""
    own, found = {_plain(each["name"]): each for each in projects}, set[str]()
    waiting, done = [(project, extra) for extra in ("", *extras)], set[tuple[str, str]]()
    while waiting:
        of, extra = waiting.pop()
        if (of["name"], extra) in done:
            continue
        done.add((of["name"], extra))
        for row in of.get("optional-dependencies", {}).get(extra, []) if extra else of["dependencies"]:
            # pyrefly: ignore[missing-attribute]
            name, inner = re.match(r"([\w.-]+)(?:\[([^\]]*)\])?", row).groups("")
            found.add(_plain(name))
            if _plain(name) in own:
                waiting += [(own[_plain(name)], each.strip()) for each in ("", *inner.split(","))]
    return found


packages = functools.cache(packages_distributions)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_beside(root: Path, path: Path, name: str) -> bool:
    """Whether it is a file beside this one, or one that the tests share."""
    shared = ("tests/support", "tests/support/grader", "book", "book/_ext")
    folders = [root / path.parent, *(root / folder for folder in shared if path.parts[0] in ("tests", "book"))]
    return any((folder / f"{name}.py").exists() or (folder / name).is_dir() for folder in folders)


def _imports(root: Path, folder: str) -> Iterator[Import]:
    """Those of every Python file below a folder, but what is imported for types only."""
    for path in sorted((root / folder).rglob("*.py")):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except SyntaxError:  # which ruff tells
            continue
        for node in _run(tree):
            if isinstance(node, ast.Import):
                yield from (Import(path.relative_to(root), node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    yield Import(path.relative_to(root), node.lineno, f"{node.module}.{alias.name}")


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's nodes without what stands below `if TYPE_CHECKING`."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _run(child)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _file(root: Path, name: str) -> str:
    """The module of ours that an import of `name` runs, which may be a name inside it; "" where it is none."""
    parts = name.split(".")
    for several in (len(parts), len(parts) - 1):
        path = root.joinpath(*parts[:several])
        if several and (path.with_suffix(".py").exists() or (path / "__init__.py").exists()):
            return ".".join(parts[:several])
    return ""
