"""Make inputs for cases without compiling anything, because the learner is waiting for the check."""

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax
    from jax.sharding import AxisType, Mesh


def normal(rng: np.random.Generator, *shape: int) -> "jax.Array":
    """Draw normal random numbers, f32[shape], on the first device."""
    return array(rng.normal(size=shape))


def array(numbers: np.ndarray) -> "jax.Array":
    """Return these numbers as f32, on the first device but not committed to it."""
    import jax

    # Casting in JAX would compile, once for each shape: 15 ms. So does jnp.asarray of a NumPy array, since JAX 0.10.
    return jax.device_put(numbers.astype(np.float32))


def fitting(*sizes: int) -> tuple[int, ...]:
    """Return mesh sizes; if there are fewer devices, as with --device real, halve the largest size until they fit."""
    import jax

    fits = list(sizes)
    while math.prod(fits) > jax.device_count():
        largest = fits.index(max(fits))
        fits[largest] //= 2
    return tuple(fits)


def drawn_mesh(rng: np.random.Generator, size: int, name: str, kind: "AxisType | None" = None) -> "Mesh":
    """Return a mesh of the first devices in a random order, with one axis: Auto, unless a different type is given."""
    import jax

    devices = rng.permutation(np.array(jax.devices()[:size]))
    return jax.sharding.Mesh(devices, (name,), axis_types=(kind or jax.sharding.AxisType.Auto,))


def place(x: "jax.typing.ArrayLike", mesh: "Mesh", *spec: object) -> "jax.Array":
    """Return x, placed on a mesh with the layout P(*spec)."""
    import jax

    return jax.device_put(x, jax.NamedSharding(mesh, jax.P(*spec)))


def float64(*arrays: "jax.typing.ArrayLike") -> list[np.ndarray]:
    """Return the numbers of each array as NumPy's f64, in which oracles compute."""
    return [np.asarray(array, np.float64) for array in arrays]
