"""The ring of pieces, recorded turn by turn."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from jax.sharding import Mesh

from minipod.pictures import Cell, Move, Trace

from .programs import pieces_by_turn


def traced_ring(mesh: Mesh) -> Trace:
    """What each device on "x" holds after each turn, and what came to it.

    Everything is run once for each device, with ones in its block and zeros in
    all others: a piece has the numbers of those whose ones arrive in it.
    """
    n = mesh.size
    cut = {"mesh": mesh, "in_specs": P("x"), "out_specs": P("x")}
    run = jax.jit(jax.shard_map(pieces_by_turn, **cut))

    def on_each(blocks):  # what every device noted: (device, turn, …)
        x = jax.device_put(blocks, NamedSharding(mesh, P("x")))
        return (np.asarray(a).reshape(n, -1, *a.shape[1:]) for a in run(x))

    ones = jnp.ones(n * n, int)
    held, came = on_each(ones)  # [device, turn, piece, 1], [device, turn, 2]
    held = held[..., 0]
    reached = np.stack(
        [next(on_each(ones * (jnp.arange(n * n) // n == i))) for i in range(n)]
    )[..., 0]  # the same, for each whose ones they are

    def piece(device, turn, place):
        at = device, turn, place
        return Cell(str(held[at]), tuple(np.flatnonzero(reached[:, *at])))

    trace = Trace(n)
    for turn in range(2 * n - 1):
        moves = [
            Move(int(source), device, int(place), ones.itemsize)
            for device, (source, place) in enumerate(came[:, turn - 1])
            if turn > 0
        ]
        trace.step(
            f"turn {turn}" if turn else "start",
            [[piece(i, turn, p) for p in range(n)] for i in range(n)],
            moves,
            said=_said(held, turn, moves) if turn else ["cut", n],
        )
    return trace


def _said(held: np.ndarray, turn: int, moves: list[Move]) -> list:
    """Whether what came was added to what was there, or replaced it."""
    old, new = held[:, turn - 1], held[:, turn]

    def left(m: Move) -> int:
        return old[m.source, m.place]

    added = all(
        new[m.target, m.place] == old[m.target, m.place] + left(m)
        for m in moves
    )
    put = all(new[m.target, m.place] == left(m) for m in moves)
    assert added != put, f"turn {turn} neither adds nor replaces"
    return ["added" if added else "replaced", turn, len(held[0]) - 1]
