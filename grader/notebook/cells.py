"""Collect an answer from cells into a file that can be checked: the function, and what it uses from other cells.

As in the kernel, the statement that ran last counts. Imports and functions are copied as written, plain values
(numbers, strings, lists of these …) as they are now, and other names with the statement that gave them their value.
"""

import ast
import builtins
import contextlib
import inspect
import linecache
import symtable
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.exercise.answers import syntax_tree, top_level_names

LONGEST = 10_000  # characters of a plain value that is taken over as it is
_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_REPEATED = (*_FUNCTIONS, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
_PLAIN = (bool, int, float, complex, str, bytes, tuple, list, dict, set, type(None))
_DISPLAY = "from IPython.display import display"  # IPython gives it to every cell
_MAGICS = ("time", "capture", "prun")  # what they run is the notebook's
_IPYTHON = ("In", "Out", "exit", "quit")  # in every notebook, and not from a cell


class NotRun(Exception):
    """Raised if no cell that has run defines the answer."""


class Unseen(Exception):
    """Raised if no statement can be run again to define `name`, which is the answer or is used by it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Statement:
    """A top-level statement that has run. cell: number in `In`. whole: the cell's text. line: first line there."""

    cell: int
    whole: str
    line: int
    text: str
    node: ast.stmt

    @property
    def names(self) -> set[str]:
        """Return the names that the statement binds."""
        return top_level_names(ast.Module([self.node], []))

    @property
    def imports(self) -> bool:
        """Return whether the statement is an import."""
        return isinstance(self.node, _IMPORTS)

    def used(self) -> set[str]:
        """Return the names that the statement uses, not binds. Raises SyntaxError for `await` outside a function."""
        names: set[str] = set()
        tables = [symtable.symtable(self.text, "cell", "exec")]
        while tables:
            table = tables.pop()
            tables += table.get_children()
            outside = table.get_type() == "module"
            names |= {s.get_name() for s in table.get_symbols() if s.is_global() or (outside and s.is_referenced())}
        return names


@dataclass
class Gathered:
    """The file that is checked. origin: the cell and line from which each of its lines came; None for lines of ours."""

    text: str = ""
    origin: list[tuple[int, int] | None] = field(default_factory=list)

    def add(self, statement: Statement | str) -> None:
        """Append a statement."""
        text = statement if isinstance(statement, str) else statement.text
        self.text += text + "\n"
        for n in range(text.count("\n") + 1):
            self.origin.append(None if isinstance(statement, str) else (statement.cell, statement.line + n))


def statements_of(history: Sequence[str]) -> list[Statement]:
    """Return the statements of the cells in the order in which they ran; a cell that is not Python is left out."""
    statements = []
    for number, cell in enumerate(history):
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            body, above = _body(cell)
            lines = body.split("\n")
            for node in syntax_tree(body).body:
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                statements.append(Statement(number, cell, first + above, _text(node, lines, first), node))
    return statements


def _body(cell: str) -> tuple[str, int]:
    """Return the code that runs in a cell, and how many lines above it are magics: `In` has `%%time` as a call."""
    match syntax_tree(cell).body:
        case [
            ast.Expr(ast.Call(ast.Attribute(attr="run_cell_magic"), [ast.Constant(name), _, ast.Constant(str(body))]))
        ]:
            return (body, 1) if name in _MAGICS else (cell, 0)
    return cell, 0


def gather(name: str, history: Sequence[str], values: Mapping[str, Any], shown: str = "") -> Gathered:
    """Return the file with the function `name` as it is in the kernel.

    history  the cells that have run, as IPython's `In`
    values   the kernel's names, as `user_ns`
    shown    the code of the chapter's own cells, which is not an answer
    Raises NotRun, or Unseen.
    """
    ran = statements_of(history)
    binding = [s for s in ran if name in s.names]
    readers = [s for s in binding if s.text not in shown]
    if name not in values or (binding and not readers):
        raise NotRun(name)
    pieces = _Pieces([s for s in ran if s not in binding or s in readers], values)
    pieces.take(s for s in ran if getattr(s.node, "module", "") == "__future__")  # IPython keeps them for all cells
    pieces.need(name)
    file = Gathered()
    for piece in [*pieces.imports, *pieces.others]:
        file.add(piece)
    return file


@dataclass
class _Pieces:
    """The pieces that an answer needs, in an order in which they can run."""

    ran: list[Statement]
    values: Mapping[str, Any]
    imports: list[Statement | str] = field(default_factory=list)
    others: list[Statement | str] = field(default_factory=list)
    done: set[str] = field(default_factory=set)

    def need(self, name: str) -> None:
        """Add the statement that gives `name` its value, after the statements that it needs."""
        if name in self.done:
            return
        self.done.add(name)
        binding = [s for s in self.ran if name in s.names]
        if name not in self.values or not binding:
            return self._unbound(name)
        if binding[-1].imports:
            return self.take(s for s in binding if s.imports)  # `import jax.export` beside `import jax`
        if literal := _literal(self.values[name]):
            return self.others.append(f"{name} = {literal}")
        statement = _live(binding, self.values[name])
        if not isinstance(statement.node, _REPEATED):
            raise Unseen(name)
        try:
            used = statement.used()
        except SyntaxError:
            raise Unseen(name) from None
        for other in sorted(used):
            self.need(other)
        if statement not in self.others:
            self.others.append(statement)

    def _unbound(self, name: str) -> None:
        """Handle a name that no statement binds: Python's, IPython's, one from `import *`, or an unknown one."""
        stars = [s for s in self.ran if "*" in s.names]
        if name == "display":
            self.imports.append(_DISPLAY)
        elif name not in self.values or hasattr(builtins, name) or name in _IPYTHON or name.startswith("_"):
            return
        elif stars:
            self.take(stars)
        else:
            raise Unseen(name)

    def take(self, imports: Iterable[Statement]) -> None:
        """Add imports, each only once."""
        for statement in imports:
            if statement.text not in [s if isinstance(s, str) else s.text for s in self.imports]:
                self.imports.append(statement)


def _text(node: ast.stmt, lines: list[str], first: int) -> str:
    """Return a statement's lines as written, unless other statements share them."""
    last = node.end_lineno or node.lineno
    after = lines[last - 1].encode()[node.end_col_offset or 0 :].decode().strip()
    return "\n".join(lines[first - 1 : last]) if not node.col_offset and after[:1] in ("", "#") else ast.unparse(node)


def _literal(value: Any) -> str:
    """Return the Python literal of a plain value; empty for any other value, and for a long one."""
    if type(value) in _PLAIN and sys.getsizeof(value) < LONGEST:
        with contextlib.suppress(Exception):  # whatever an element's repr does
            text = repr(value)
            return text if len(text) < LONGEST and ast.literal_eval(text) == value else ""
    return ""


def _live(binding: list[Statement], value: Any) -> Statement:
    """Return the statement that defined a function; an earlier one if the last one's cell failed before reaching it."""
    with contextlib.suppress(Exception):  # whatever __wrapped__ does
        cell = "".join(linecache.getlines(inspect.unwrap(value).__code__.co_filename)).strip()
        return [s for s in binding if s.whole.strip() == cell][-1]
    return binding[-1]
