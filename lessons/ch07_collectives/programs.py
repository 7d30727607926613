"""The programs behind the published figures, each as one device runs it."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax


def gather_and_exchange(a):  # [rows/n, columns] a device
    whole = lax.all_gather(a, "x", tiled=True)
    turned = lax.all_to_all(a, "x", split_axis=1, concat_axis=0, tiled=True)
    return whole, turned


def corner_to_corner(a):
    last = lax.axis_size("x") * lax.axis_size("y") - 1
    return lax.ppermute(a, ("x", "y"), [(0, last)])


def loss(weights, a, whole=lambda w: w):  # f32[layers, 64, 64], f32[rows, 64]
    @jax.checkpoint  # so that backward makes the weights whole once more
    def layer(h, w):
        return jnp.tanh(h @ whole(w)), None

    return jnp.sum(lax.scan(layer, a, weights)[0] ** 2)


def data_parallel_step(weights, a):
    value, gradient = jax.value_and_grad(loss)(weights, a)
    return value, lax.psum(gradient, "x")


def sharded_step(weights, a):  # f32[layers, 64/n, 64], f32[rows, 64]
    return jax.value_and_grad(loss)(
        weights, a, lambda w: lax.all_gather(w, "x", tiled=True)
    )


def ring_of_pieces(block):  # f32[m], m a multiple of the devices on "x"
    n, me = lax.axis_size("x"), lax.axis_index("x")
    around = [(i, (i + 1) % n) for i in range(n)]
    pieces = block.reshape(n, -1)
    for k in range(n - 1):  # the sum so far of a piece goes on
        came = lax.ppermute(pieces[(me - k) % n], "x", around)
        pieces = pieces.at[(me - k - 1) % n].add(came)
    for k in range(n - 1):  # a finished sum goes on
        came = lax.ppermute(pieces[(me + 1 - k) % n], "x", around)
        pieces = pieces.at[(me - k) % n].set(came)
    return pieces.reshape(block.shape)


PROGRAMS: dict[str, Callable] = {
    "gather x": lambda a: lax.all_gather(a, "x", tiled=True),
    "gather y": lambda a: lax.all_gather(a, "y", axis=1, tiled=True),
    "gather y, rows": lambda a: lax.all_gather(a, "y", tiled=True),
    "gather x and y": lambda a: lax.all_gather(a, ("x", "y"), tiled=True),
    "reduce x": lambda a: lax.psum(a, "x"),
    "reduce z": lambda a: lax.psum(a, "z"),
    "gather, then exchange": gather_and_exchange,
    "corner to corner": corner_to_corner,
    "data-parallel step": data_parallel_step,
    "step with parameters sharded": sharded_step,
}
WEIGHTS = jax.ShapeDtypeStruct((4, 64, 64), jnp.float32)
BATCH = jax.ShapeDtypeStruct((1024, 64), jnp.float32)
