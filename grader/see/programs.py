"""Export a traced function as a program that can leave its process; measured.py compiles, counts and runs it.

So a submission's process says only which program it made. A process in which nothing of the submission runs observes
what the program sends, what it returns, and where its results lie.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.see.packing import pack
from grader.see.values import Other, Tree, Value

MOST_BYTES = 2 << 20  # of a program


@dataclass(frozen=True)
class Program(Value):
    """A placeholder for a value until the program, in the format of `jax.export`, has run.

    result: the value that the program will return, with `Other("Result", …)` in place of its arrays.
    """

    base64: str
    result: Value

    @property
    def kind(self) -> str:
        return "a program"


class Result:
    """A placeholder for the n-th array that a program returns."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __repr__(self) -> str:
        return str(self.n)


def export(function: Callable[..., Any], arrays: list[Any]) -> Program:
    """Trace a function of arrays, of which only shape, dtype and layout are used.

    Raises the errors of tracing, and ValueError for a program that is too large. Printing with jax.debug is left out,
    because it would call back to Python.
    """
    import jax
    from jax import export as jax_export

    leaves, given = jax.tree.flatten(arrays)
    returned: list[Any] = []

    def program(*leaves: Any) -> list[Any]:
        results, tree = jax.tree.flatten(function(*jax.tree.unflatten(given, leaves)))
        returned[:] = [tree]
        return results

    try:
        exported = jax_export.export(jax.jit(program))(*leaves)
        data = exported.serialize()
    except (NotImplementedError, ValueError) as error:
        if "callback" not in str(error) and "effect" not in str(error):
            raise
        with _silent():
            exported = jax_export.export(jax.jit(lambda *leaves: program(*leaves)))(*leaves)
            data = exported.serialize()
    if len(data) > MOST_BYTES:
        raise ValueError(f"the compiled program has {len(data):,} bytes, far more than any answer needs")
    tree = returned[0]
    result = jax.tree.unflatten(tree, [Result(n) for n in range(tree.num_leaves)])
    return Program(base64.b64encode(data).decode(), pack(result))


class _silent:
    """A block in which jax.debug.print and jax.debug.callback do nothing."""

    def __enter__(self) -> None:
        import jax

        self._before = {name: getattr(jax.debug, name) for name in ("print", "callback")}
        for name in self._before:
            setattr(jax.debug, name, lambda *args, **kwargs: None)

    def __exit__(self, *_: object) -> None:
        import jax

        for name, function in self._before.items():
            setattr(jax.debug, name, function)


def filled(result: Value, arrays: Sequence[Value]) -> Value:
    """Return a program's result with its arrays filled in. Raises IndexError or ValueError if they do not fit."""
    if isinstance(result, Other) and result.name == Result.__name__:
        return arrays[int(result.repr)]
    if isinstance(result, Tree):
        return replace(result, items=tuple(filled(item, arrays) for item in result.items))  # type: ignore[call-arg]
    return result
