"""Find what a teacher should read: lines that reach beyond an exercise, and answers that are nearly the same.

Neither proves anything. Both are found in the text alone, which is never run here.
"""

import ast
import copy
import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

MODULES = {
    *"builtins ctypes faulthandler gc importlib inspect marshal mmap multiprocessing os pickle pty runpy".split(),
    *"shutil signal site socket subprocess sys threading traceback".split(),
    *"cloudpickle psutil lessons solutions minipod grader tests publish jax._src jaxlib".split(),
}
ATTRIBUTES = {
    *"f_back f_locals f_globals f_builtins f_code tb_frame tb_next gi_frame cr_frame ag_frame cell_contents".split(),
    *"__globals__ __code__ __closure__ __builtins__ __subclasses__ __mro__ __bases__ __dict__ __class__".split(),
    *"__reduce__ __getattribute__ _getframe".split(),
}
CALLS = {"eval", "exec", "compile", "__import__", "globals", "open", "setattr", "delattr", "breakpoint"}
MOST_LINES, MOST_TEXT = 20, 160
FEW_LINES = 3  # of a function; shorter ones are alike by themselves
ALIKE = 0.9  # of the lines
SHARED = 2  # answers that two must have alike


@dataclass(frozen=True)
class Line:
    """A line of a submission: its number, its text, and the part of it that is worth a look."""

    number: int
    text: str
    why: str


@dataclass(frozen=True)
class Pair:
    """Two students with nearly the same answers: the exercises, and the number of exercises that both answered."""

    one: str
    other: str
    exercises: tuple[str, ...]
    both: int


def lines_to_read(source: str, blank: str) -> tuple[Line, ...]:
    """Find the first `MOST_LINES` lines that reach beyond the exercise; modules that the blank imports are allowed."""
    tree, lines = ast.parse(source), source.split("\n")
    usual = {name for node in ast.walk(ast.parse(blank)) for name, _ in _imports(node)}
    modules = {bound: name for node in ast.walk(tree) for name, bound in _imports(node)}
    reasons: dict[int, Line] = {}
    for node in ast.walk(tree):
        for why in _reasons(node, usual, modules):
            number: int = getattr(node, "lineno", 1)
            text = lines[number - 1].strip()[:MOST_TEXT] if number <= len(lines) else ""
            reasons.setdefault(number, Line(number, text, why))
    return tuple(reasons[n] for n in sorted(reasons)[:MOST_LINES])


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the modules that a statement imports, or imports from, and the names that it binds."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield f"{node.module or ''}.{alias.name}", alias.asname or alias.name


def _reasons(node: ast.AST, usual: set[str], modules: Mapping[str, str]) -> Iterator[str]:
    for name, _ in _imports(node):
        if name not in usual and any(name == m or name.startswith(f"{m}.") for m in MODULES):
            yield name
    if isinstance(node, ast.Attribute):
        if node.attr in ATTRIBUTES:
            yield node.attr
        if not isinstance(node.ctx, ast.Load) and (name := _root(node)) in modules:
            yield f"{ast.unparse(node)} = …"
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in CALLS:
        yield node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "vars"):
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):  # a name that is put together, or all
            yield f"{node.func.id}(…)"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in ATTRIBUTES | MODULES:
        yield repr(node.value)


def _root(node: ast.expr) -> str:
    """Return the name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def shape(source: str, name: str) -> tuple[str, ...]:
    """Return a function's lines without docstring and comments, its own names numbered; () if it is missing."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            made = _Numbered().visit(copy.deepcopy(node))
            if isinstance(made.body[0], ast.Expr) and isinstance(made.body[0].value, ast.Constant):
                made.body = made.body[1:] or [ast.Pass()]
            return tuple(ast.unparse(made).split("\n")[1:400])
    return ()


class _Numbered(ast.NodeTransformer):
    """A transformer that replaces the names that a function binds by v0, v1, … in order of appearance."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        bound = [n.arg for n in ast.walk(node) if isinstance(n, ast.arg)]
        bound += [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        bound += [n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node]
        for one in bound:
            self.names.setdefault(one, f"v{len(self.names)}")
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        node.annotation = None
        return node


def alike(functions: Mapping[str, Mapping[str, tuple[str, ...]]]) -> list[Pair]:
    """Find pairs of students with at least two nearly equal answers; pairs with the most come first.

    functions  by student and exercise, the result of `shape`. An answer that a third of the class gives is ignored.
    """
    times = Counter((e, lines) for seen in functions.values() for e, lines in seen.items())
    usual = {item for item, n in times.items() if n > max(2, len(functions) / 3)}
    counted = {
        student: {e: x for e, x in seen.items() if len(x) >= FEW_LINES and (e, x) not in usual}
        for student, seen in functions.items()
    }
    near, pairs = functools.cache(_near), []  # many give the same answer
    for one, other in combinations(counted, 2):
        a, b = counted[one], counted[other]
        both = [e for e in a if e in b]
        same = tuple(e for e in both if near(a[e], b[e]))
        if len(same) >= SHARED:
            pairs.append(Pair(one, other, same, len(both)))
    return sorted(pairs, key=lambda pair: (-len(pair.exercises), pair.both))


def _near(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    if a == b:
        return True
    most = ALIKE * (len(a) + len(b)) / 2  # lines that they must share
    if min(len(a), len(b)) < most or (Counter(a) & Counter(b)).total() < most:
        return False
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= ALIKE
