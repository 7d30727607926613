"""Compile a function for its arguments, whichever library made it."""

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Return JAX's compiled program of `function`, jitted or not, for `args`; or `function`, if it is compiled already.

    Raises TypeError for a compiled program with arguments.
    """
    import jax

    if isinstance(function, jax.stages.Compiled):
        if args:
            raise TypeError("a compiled program takes no arguments here: it was compiled for its own")
        return function
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    return unwrapped(jitted.lower(*args).compile())


def unwrapped(program: Any) -> Any:
    """Return JAX's compiled program, which a library may have wrapped."""
    while not hasattr(program, "memory_analysis"):
        program = program.compiled
    return program
