"""The ring of pieces, and the programs behind the measured figures, each as one
device runs it."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax


def ring_of_pieces(block):  # f32[m], m a multiple of the devices on "x"
    return pieces_by_turn(block)[-1].reshape(block.shape)


def pieces_by_turn(block):
    """A device's pieces at the start and after each turn: f32[2n-1, n, m/n]."""
    n, me = lax.axis_size("x"), lax.axis_index("x")
    around = [(i, (i + 1) % n) for i in range(n)]
    pieces = block.reshape(n, -1)
    turns = [pieces]
    for k in range(n - 1):  # the sum so far of a piece goes on
        came = lax.ppermute(pieces[(me - k) % n], "x", around)
        pieces = pieces.at[(me - k - 1) % n].add(came)
        turns.append(pieces)
    for k in range(n - 1):  # a finished sum goes on
        came = lax.ppermute(pieces[(me + 1 - k) % n], "x", around)
        pieces = pieces.at[(me - k) % n].set(came)
        turns.append(pieces)
    return jnp.stack(turns)


PROGRAMS: dict[str, Callable] = {
    "gather x": lambda a: lax.all_gather(a, "x", tiled=True),
    "gather y, rows": lambda a: lax.all_gather(a, "y", tiled=True),
    "reduce x": lambda a: lax.psum(a, "x"),
}
