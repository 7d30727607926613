"""Compile a mutant once for all inputs on which JAX would trace it alike: what differs from seed to seed is numbers."""

from collections.abc import Callable
from typing import Any

from grader.exercise.spec import Budget
from grader.see.compiled import Compiled, compiled, is_data
from grader.see.observation import Traffic, Unreadable


class CompiledOnce:
    """An `Compiler` for one function, which keeps what came of it: a program, or the error.

    A function that can be compiled is traced with arrays of which it sees shapes, types and shardings, and with
    arguments that are no arrays. Where all of these are the same, so is what comes of it.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[list[object], tuple[Callable[..., Any], Traffic | Unreadable] | BaseException]] = []

    def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], budget: Budget | None) -> Compiled:
        traced = [budget, *map(_as_traced, args)]
        found = next((outcome for before, outcome in self._kept if _same(before, traced)), None)
        if found is None:
            try:
                run, _, seen = compiled(function, args, budget)
                found = run, seen
            except BaseException as error:
                found = error
            self._kept.append((traced, found))
        if isinstance(found, BaseException):
            raise found
        run, seen = found
        return run, tuple(leaf for leaf in args if is_data(leaf)), seen

    def forget(self) -> None:
        """Keep nothing: tracing did more than make a program."""
        self._kept.clear()


def _as_traced(arg: Any) -> object:
    """All that JAX takes of an argument to trace a function."""
    import jax

    if not is_data(arg):
        return repr(arg), arg  # 1, 1.0 and True are equal
    leaves, tree = jax.tree.flatten(arg)
    return tree, [_array(leaf) for leaf in leaves]


def _array(x: Any) -> object:
    import jax

    if isinstance(x, jax.Array):
        return x.shape, x.dtype, x.aval.weak_type, x.sharding, x.committed
    return x.shape, x.dtype


def _same(one: list[object], other: list[object]) -> bool:
    try:
        return one == other
    except ValueError:  # arrays among other things in one argument
        return False
