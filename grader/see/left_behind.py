"""Detect changes that a function must not make: to its lists, dicts and NumPy arrays, and to JAX's settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """A change: of a JAX setting, given by its name, or of an argument, given by its position."""

    argument: int | None = None
    setting: str | None = None


class Before:
    """The state before a call; `change()` returns what is different after it."""

    def __init__(self, args: tuple[Any, ...]) -> None:
        self.args = args
        self.states, self.settings = list(map(_state, args)), _settings()

    def change(self) -> Change | None:
        """Return the first argument that has changed, or else the first setting; None if nothing has changed."""
        for place, (arg, state) in enumerate(zip(self.args, self.states, strict=True)):
            if _state(arg) != state:
                return Change(argument=place)
        now = _settings()
        return next((Change(setting=name) for name, value in self.settings.items() if now.get(name) != value), None)


def given_up(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the positions of arguments whose JAX arrays are all deleted, that is, donated with their memory reused."""
    import jax

    lost = []
    for place, arg in enumerate(args):
        try:  # an iterator would be used up, and keys that have no order make no tree
            leaves = [] if isinstance(arg, Iterator) else jax.tree.leaves(arg)
        except ValueError:
            continue
        arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
        if arrays and all(array.is_deleted() for array in arrays):
            lost.append(place)
    return tuple(lost)


def _state(x: Any) -> object:
    """Return a value that changes if the contents of a container, their order, or the numbers of an array change.

    Objects that cannot be changed in place, or only by JAX, which deletes donated arrays, are compared by identity.
    """
    import numpy as np

    if isinstance(x, list):
        return [id(x), *map(_state, x)]
    if isinstance(x, dict):
        return [id(x), *((id(key), _state(value)) for key, value in x.items())]
    if isinstance(x, tuple):
        return tuple(map(_state, x))
    if isinstance(x, np.ndarray):
        return id(x), x.shape, x.tobytes()
    return id(x)


def _settings() -> dict[str, Any]:
    import jax

    return dict(jax.config.values)
