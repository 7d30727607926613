"""Runs any table of schedule.py as one program on a mesh of stages."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from parts import LENGTH, SPECS, WIDTH, embedded, head, layers, part_of
from schedule import Op

# Of a stage in a tick: idle, F or B; microbatch; which of its parts; slots of
# x and dy; slots for what comes from the left and from the right.
NOWHERE = 2**30


def plan(rows):
    """(int32[tick, stage, 7], how many slots). A message gets a slot where it
    arrives, until the backward that reads it last. One past the last slot:
    nothing is written there, and zeros are read."""
    placed = [(op, s) for row in rows for s, op in enumerate(row) if op]
    stages, last = len(rows[0]), max(op.part for op, _ in placed)
    if last == 0:
        raise ValueError("a model of one part needs no pipeline")
    for i, (op, s) in enumerate(placed):
        if op.part % stages != s:
            raise ValueError(f"{op} is on stage {s}, not {op.part % stages}")
        if (op, s) in placed[:i]:
            raise ValueError(f"{op} is there twice: it may take one tick")
    code = np.zeros((len(rows), stages, 7), np.int32)
    code[..., 3:] = NOWHERE
    slot, free, used = {}, [[] for _ in range(stages)], [0] * stages
    for t, row in enumerate(rows):
        for s, op in enumerate(row):
            if not op:
                continue
            x = slot.get(Op("F", *op[1:]), NOWHERE)
            code[t, s, :4] = 1 + (op.kind == "B"), op[1], op.part // stages, x
            if op.kind == "B":  # what it reads is free afterwards
                code[t, s, 4] = dy = slot.get(op, NOWHERE)
                free[s] += [i for i in (x, dy) if i != NOWHERE]
        for op in row:  # what arrives at the end of the tick
            part = op.part + (1 if op.kind == "F" else -1) if op else -1
            if not 0 <= part <= last:
                continue
            s, side = part % stages, 5 if op.kind == "F" else 6
            if not free[s]:
                free[s].append(used[s])
                used[s] += 1
            free[s].sort(reverse=True)
            slot[Op(op.kind, op[1], part)] = code[t, s, side] = free[s].pop()
    code[code == NOWHERE] = max(used)
    return code, max(used)


def executor(rows):
    """(w, tokens) → (loss, gradients), inside shard_map over "stage"."""
    code, slots = plan(rows)
    stages = len(rows[0])
    last = max(op.part for row in rows for op in row if op)
    edges = range(stages if last >= stages else last)  # a ring, or a line
    ring = [(i, (i + 1) % stages) for i in edges]

    def run(w, tokens):
        s, shape = lax.axis_index("stage"), (tokens.shape[1], LENGTH, WIDTH)

        def varying(x):
            return lax.pcast(x, "stage", to="varying")

        # Copies become each device's own: their sums come at the end.
        w = {n: a if "stage" in SPECS[n] else varying(a) for n, a in w.items()}

        def piece(w, x, m, chunk):
            """Of part chunk·stages + s: what it passes on, and its loss."""
            p, mine = chunk * stages + s, tokens[m]
            x = lax.cond(p == 0, lambda: embedded(w, mine), lambda: x)
            x = layers(part_of(w, chunk, 0), x)
            none = varying(jnp.zeros(()))
            loss = lax.cond(p == last, lambda: head(w, x, mine), lambda: none)
            return x, loss / len(tokens)

        def read(buffer, slot):
            return buffer.at[slot].get(mode="fill", fill_value=0)

        def idle(state, op):
            return state, varying(jnp.zeros(shape))

        def forward(state, op):
            y, loss = piece(w, read(state["box"], op[3]), op[1], op[2])
            return state | {"loss": state["loss"] + loss}, y

        def backward(state, op):
            x, dy = read(state["box"], op[3]), read(state["box"], op[4])
            _, back = jax.vjp(lambda w, x: piece(w, x, op[1], op[2]), w, x)
            dw, dx = back((dy, varying(jnp.ones(()))))
            return state | {"g": jax.tree.map(jnp.add, state["g"], dw)}, dx

        def tick(state, ops):  # ops: int32[stages, 7], what all do now
            op = ops[s]
            acts = idle, forward, backward
            state, out = lax.switch(op[0], acts, state, op)
            right = lax.ppermute(out, "stage", ring)
            left = lax.ppermute(out, "stage", [(b, a) for a, b in ring])
            box = state["box"].at[op[5]].set(right, mode="drop")
            box = box.at[op[6]].set(left, mode="drop")
            return state | {"box": box}, None

        state = {
            "box": varying(jnp.zeros((slots, *shape))),
            "loss": varying(jnp.zeros(())),
            "g": jax.tree.map(jnp.zeros_like, w),
        }
        state, _ = lax.scan(tick, state, jnp.array(code))
        g = {
            n: a if "stage" in SPECS[n] else lax.psum(a, "stage")
            for n, a in state["g"].items()
        }
        return lax.psum(state["loss"], "stage"), g

    return run
