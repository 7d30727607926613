"""Mutants: right answers with one small change each, made mechanically, to find out what the checks do not see.

Libraries for this (Cosmic Ray, mutmut) write a mutant into the project, start its tests for it, and know nothing of
collectives; ours have to be judged as answers are, dozens in one process, and half of the changes are this book's own.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.exercise.spec import Spec
from publish.author.mutation_operators import alternatives, axis_names

ENOUGH = 14  # letters of an expression that tell a reader where it stands
_ASIDE = (ast.Assert, ast.Raise, ast.JoinedStr, ast.arg, ast.Import, ast.ImportFrom)  # what is no part of the answer
_HARM = {"list": "{}.clear()", "dict": "{}.clear()", "ndarray": "{}[...] = 0"}
_SETTING = "__import__('jax').config.update('jax_default_device', __import__('jax').devices()[-1])"


@dataclass(frozen=True)
class Mutant:
    """One exercise's answer in a file, changed.

    words   what was changed, `before → after`, the same as long as the answer is
    source  the whole file with the change
    """

    path: Path
    exercise: str
    words: str
    source: str


def mutants_of(path: Path, spec: Spec) -> list[Mutant]:
    """Every mutant of the exercise's answer in a file, its helpers included; of two with the same text the first."""
    exercise = spec.name
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, str] = {}  # words by source
    counted: dict[str, int] = {}
    for function in _reached(tree, exercise):
        axes = axis_names(function)
        for words in _changed(function, axes, spec.processes > 1):
            counted[words] = counted.get(words, 0) + 1
            if counted[words] > 1:
                words += f" ({counted[words]})"
            found.setdefault(ast.unparse(tree), words)
    for words in _harmed(tree, spec):
        found.setdefault(ast.unparse(tree), words)
    found.pop(ast.unparse(tree), None)  # with no change at all
    return [Mutant(path, exercise, words, source) for source, words in found.items() if _compiles(source)]


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _reached(tree: ast.Module, exercise: str) -> list[ast.FunctionDef]:
    """The exercise's function, and those of the file that it calls."""
    there = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    names, found = [exercise], []
    for name in names:
        if name in there:
            found.append(there[name])
            used = {n.id for n in ast.walk(there[name]) if isinstance(n, ast.Name)}
            names += [other for other in there if other in used and other not in names]
    return found


def _changed(function: ast.FunctionDef, axes: set[str], several: bool) -> Iterator[str]:
    """Change the tree in one place after the other, and say what is changed while it is."""
    for place in _places(function, ()):
        *_, (parent, field, index) = place
        node = _get(parent, field, index)
        for other in list(alternatives(node, axes, several)):
            around = _around(place, node)
            before = _text(around)
            _set(parent, field, index, other)
            after = _text(other if around is node else around)
            if after != before:
                yield f"{before} → {after}"
            _set(parent, field, index, node)


Place = tuple[tuple[ast.AST, str, int | None], ...]  # parent, field and index, from the function inwards


def _places(node: ast.AST, before: Place) -> Iterator[Place]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") and not isinstance(value, list):
            continue
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if not isinstance(child, ast.AST) or isinstance(child, _ASIDE):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            place = (*before, (node, field, index))
            yield place
            yield from _places(child, place)


def _get(parent: ast.AST, field: str, index: int | None) -> ast.AST:
    value = getattr(parent, field)
    return value if index is None else value[index]


def _set(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _around(place: Place, node: ast.AST) -> ast.AST:
    """The innermost expression or statement around a node that is long enough to be recognised."""
    around = node
    for parent, _, _ in reversed(place):
        if isinstance(around, ast.stmt) or (isinstance(around, ast.expr) and len(_text(around)) >= ENOUGH):
            break
        around = parent
    return around


def _text(node: ast.AST) -> str:
    """As code; of a statement with others inside its first line."""
    inner = isinstance(node, ast.For | ast.If | ast.While | ast.With | ast.FunctionDef)
    text = ast.unparse(ast.fix_missing_locations(node))
    return text.partition("\n")[0] if inner else " ".join(text.split())


def _harmed(tree: ast.Module, spec: Spec) -> Iterator[str]:
    """The answer, right in what it returns, that changes an argument in place, or a setting of JAX.

    What the blank's annotations say can be changed; not where the answer is compiled, and so given copies.
    """
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == spec.name), None)
    if function is None:
        return
    arguments = _arguments(spec) if spec.how == "call" else []
    given = [ast.unparse(arg.annotation or ast.Constant("")) for arg in arguments]
    harms = [_SETTING]
    for arg, kind in zip(function.args.args, given, strict=False):
        kind = kind.partition("[")[0].rpartition(".")[2]
        harms += [_HARM[kind].format(arg.arg)] if kind in _HARM else []
    body = function.body
    for harm in harms:
        function.body = [ast.Try(body, [], [], ast.parse(harm).body)]
        yield f"at the end: {harm}"
        function.body = body


def _arguments(spec: Spec) -> list[ast.arg]:
    tree = ast.parse((spec.folder / "exercises.py").read_text(encoding="utf-8"))
    return next(n.args.args for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == spec.name)
