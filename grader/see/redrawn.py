"""Draw one argument again, with the same shape and dtype, from its own values; the others stay the same.

This can be done for arrays, floats, and dicts, lists and tuples of nothing else. If no call has an array, a mesh or a
function, it can also be done for integers, strings and lists of them, which are not sizes then.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DRAWS = 3
FACTORS = ((0.6, 0.9), (0.2, 0.5), (0.02, 0.1))  # of a single number: it crosses a threshold, and a rate stays one
Place = tuple[int, str | None]  # which argument, and which entry of it, if it is a dict
Args = tuple[Any, ...]


def places(names: Sequence[str], cases: Sequence[Args]) -> dict[str, Place]:
    """Return the arguments, and parts of them, that can be drawn again in every case: `b1`, `params["w"]`."""
    result: dict[str, Place] = {}
    plain = are_plain(cases)
    for i, name in enumerate(names):
        column = [args[i] for args in cases]
        if plain or all(map(_is_numbers, column)):
            result[name] = i, None
        if all(type(x) is dict and x.keys() == column[0].keys() for x in column):
            for key in column[0]:
                if type(key) is str and (plain or all(_is_numbers(x[key]) for x in column)):
                    result[f'{name}["{key}"]'] = i, key
    return result


def are_plain(cases: Sequence[Args]) -> bool:
    """Return whether no call has an array, a mesh, a function or an object."""
    return all(_is_plain(x) for args in cases for x in args)


def redrawn(args: Args, place: Place, draw: int, about: object, others: Sequence[Any]) -> Args | None:
    """Return a copy of the arguments with a different value at this place; None if there is none.

    draw    number of the draw, below DRAWS: first half of an array's entries change, then the other half, then all
    about   the purpose of the draw: equal ones give equal values
    others  values of this argument in other calls; one without numbers of its own to draw from becomes one of these
    """
    i, key = place
    new, n = list(copied(args)), iter(range(1_000_000))
    old = new[i] if key is None else new[i][key]

    def anew(x: Any) -> Any:
        leaf = about, next(n)
        return _drawn(x, draw, _generator(leaf), _generator(leaf, draw)) if type(x) is float or _is_array(x) else x

    try:
        value = _mapped(old, anew) if _is_numbers(old) else _other(old, draw, about, others, key)
    except _AllAlikeError:
        return None
    if key is None:
        new[i] = value
    else:
        new[i][key] = value
    return tuple(new)


def _other(old: Any, draw: int, about: object, others: Sequence[Any], key: str | None) -> Any:
    """Return a different value that the argument, or its entry, has in other calls."""
    every = others if key is None else [x[key] for x in others if key in x]
    values = {repr(x): x for x in every if repr(x) != repr(old)}
    if len(values) < DRAWS:
        raise _AllAlikeError
    chosen = str(_generator(about).permutation(sorted(values))[draw])
    return _mapped(values[chosen], lambda leaf: leaf)


def copied(args: Args) -> Args:
    """Copy the arguments, so that each call can donate or change its own."""
    return tuple(_mapped(x, lambda leaf: _like(leaf, np.array(leaf)) if _is_array(leaf) else leaf) for x in args)


class _AllAlikeError(ValueError):
    """Raised if there are too few values to choose from."""


def _generator(*about: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(about).encode()))


def _is_array(x: Any) -> bool:
    import jax
    import jax.numpy as jnp

    if isinstance(x, jax.Array):
        return not jnp.issubdtype(x.dtype, jax.dtypes.extended)
    return isinstance(x, np.ndarray) and x.dtype.kind in "fiub"


def _is_numbers(x: Any) -> bool:
    if type(x) in (dict, list, tuple):
        return bool(x) and all(map(_is_numbers, x.values() if type(x) is dict else x))
    return type(x) is float or _is_array(x)


def _is_plain(x: Any) -> bool:
    if type(x) in (dict, list, tuple, set, frozenset):
        return all(map(_is_plain, (*x, *x.values()) if type(x) is dict else x))
    return x is None or type(x) in (bool, int, float, str)


def _mapped(x: Any, change: Callable[[Any], Any]) -> Any:
    if type(x) is dict:
        return {key: _mapped(item, change) for key, item in x.items()}
    return type(x)(_mapped(item, change) for item in x) if type(x) in (list, tuple) else change(x)


def _drawn(x: Any, draw: int, half: np.random.Generator, rng: np.random.Generator) -> Any:
    """Draw a number or an array again. half: returns the half of the entries to change, the same for each draw."""
    if type(x) is float:
        return x * rng.uniform(*FACTORS[draw])
    old = np.asarray(x)
    whole = old.dtype.kind in "iub"
    numbers = old.ravel() if whole else old.ravel().astype(np.float64)
    values, at = np.unique(numbers, return_inverse=True)
    if len(values) > 1 and (whole or (values == np.round(values)).all()):
        new = values[(at + rng.integers(1, len(values), old.size)) % len(values)]
    elif whole or not old.size:
        raise _AllAlikeError
    else:
        factors = FACTORS[draw] if len(values) == 1 else (0.5, 1.0)
        new = rng.choice(numbers, old.size) * rng.uniform(*factors, old.size)
    first = half.permutation(old.size) < (old.size + 1) // 2
    which = np.ones(old.size, bool) if draw == 2 or old.size == 1 else first == (draw == 0)
    new = np.where(which, new, numbers).astype(old.dtype).reshape(old.shape)
    if (new == old).all():
        raise _AllAlikeError
    return _like(x, new)


def _like(x: Any, numbers: np.ndarray) -> Any:
    """Return an array of these numbers with the placement of x."""
    import jax

    if isinstance(x, np.ndarray):
        return numbers
    if x.committed:
        return jax.device_put(numbers, x.sharding)
    with jax.default_device(next(iter(x.devices()))):
        return jax.device_put(numbers)
