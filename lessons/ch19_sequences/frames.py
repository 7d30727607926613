"""The turns of a ring as frames: who has which keys, and what is seen."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P
from ring import on

from minipod.drawing import Canvas
from minipod.pictures import Cell, Move, Trace

SIDE, GAP, TOP = 11.0, 22.0, 22.0


def recorded(mesh, positions):
    """Positions of the keys that each device of a mesh "s" holds in each
    turn, i32[n, n, t], by running the ring's own `on` with them as blocks."""

    def run(at):
        held = [at]
        for _ in range(mesh.size - 1):
            held += on(held[-1])
        return jnp.stack(held)

    out = P(None, "s")
    cut = jax.shard_map(run, mesh=mesh, in_specs=P("s"), out_specs=out)
    held = np.asarray(jax.jit(cut)(jnp.asarray(positions)))
    return held.reshape(mesh.size, mesh.size, -1)


def seen(held):
    """i64[turn, device]: pairs of a query and a key that the mask lets see."""
    queries = held[0]  # in turn 0 a device has its own block
    return (queries[:, :, None] >= held[:, :, None, :]).sum(axis=(2, 3))


def turns(held, sent):
    """Which block of keys each device has in each turn, what `recorded` gives;
    sent: bytes that a device sends in all of them."""
    n = len(held)
    owners = {tuple(block): i for i, block in enumerate(held[0])}
    trace = Trace(n)
    for r, blocks in enumerate(held):
        who = [
            owners[tuple(block)] for block in blocks
        ]  # whose it was at first
        cells = [
            [Cell(f"{b[0]}–{b[-1]}", (i,))]
            for b, i in zip(blocks, who, strict=True)
        ]
        before = [tuple(block) for block in held[r - 1]] if r else []
        moves = [
            Move(before.index(tuple(block)), i, 0, sent // (n - 1))
            for i, block in enumerate(blocks)
            if r
        ]
        trace.step(f"turn {r}", cells, moves, said=["turn", r, n])
    return trace


def frames(held):
    """A frame for each turn: queries down, keys across, by position; in the
    colour of a device what it sees of the block that it has."""
    n, _, t = held.shape
    half, canvas = t // 2, Canvas()
    side = 2 * n * SIDE
    for r in range(n):
        left = r * (side + GAP)
        canvas.text(left + side / 2, 6, f"turn {r}", "small")
        for i in range(n):
            for q in held[0, i].reshape(2, half):
                for k in held[r, i].reshape(2, half):
                    _cell(canvas, left, q, k, i)
        counts = " ".join(str(c) for c in seen(held)[r])
        canvas.text(left + side / 2, TOP + side + 12, counts, "code")
    said = "; ".join(" ".join(map(str, row)) for row in seen(held))
    return canvas.picture(
        f"A ring of {n} devices in {n} turns. Pairs of a query and a key "
        f"that each device sees, turn by turn: {said}."
    )


def _cell(canvas: Canvas, left: float, q, k, device: int) -> None:
    x, y = left + k[0] // len(k) * SIDE, TOP + q[0] // len(q) * SIDE
    pairs = int((q[:, None] >= k).sum())
    if pairs == 0:
        canvas.rect(x + 1, y + 1, SIDE - 2, SIDE - 2, "box", 0)
    elif pairs == q.size * k.size:
        canvas.shard(x, y, SIDE, SIDE, device, 0)
    else:  # the diagonal: its lower half
        path = f"M{x} {y}V{y + SIDE}H{x + SIDE}Z"
        canvas.add("path", d=path, class_=f"cell c{device}")
