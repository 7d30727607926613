"""The ring of pieces, and the programs behind the measured figures, each as one
device runs it."""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax


def ring_of_pieces(block):  # f32[m], m a multiple of the devices on "x"
    return pieces_by_turn(block)[0][-1].reshape(block.shape)


def pieces_by_turn(block):
    """A device's pieces at the start and after each turn, f32[2n-1, n, m/n];
    and what came in each turn, i32[2n-2, 2]: whose piece, and which."""
    n, me = lax.axis_size("x"), lax.axis_index("x")
    around = [(i, (i + 1) % n) for i in range(n)]
    pieces = block.reshape(n, -1)
    turns, notes = [pieces], []

    def passed(which):  # a piece, and a note of whose it is and which
        note = jnp.stack([me, which])
        return lax.ppermute((pieces[which], note), "x", around)

    for k in range(n - 1):  # the sum so far of a piece goes on
        came, note = passed((me - k) % n)
        pieces = pieces.at[(me - k - 1) % n].add(came)
        turns.append(pieces)
        notes.append(note)
    for k in range(n - 1):  # a finished sum goes on
        came, note = passed((me + 1 - k) % n)
        pieces = pieces.at[(me - k) % n].set(came)
        turns.append(pieces)
        notes.append(note)
    return jnp.stack(turns), jnp.stack(notes)


PROGRAMS: dict[str, Callable] = {
    "gather x": lambda a: lax.all_gather(a, "x", tiled=True),
    "gather y, rows": lambda a: lax.all_gather(a, "y", tiled=True),
    "reduce x": lambda a: lax.psum(a, "x"),
}
