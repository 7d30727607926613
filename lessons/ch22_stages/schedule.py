"""Schedules of a pipeline as tables: what each stage does when. No JAX."""

from itertools import zip_longest
from typing import NamedTuple

ONE = {"F": 1, "B": 1}  # ticks of a forward and of a backward


class Op(NamedTuple):
    kind: str  # "F" or "B"
    microbatch: int
    part: int  # of the model, counted from the embedding

    def __str__(self):
        return f"{self.kind}{self.microbatch} of part {self.part}"


def needs(op, last):
    """What must be done before. last: the last part, which has the loss."""
    kind, m, part = op
    if kind == "F":
        return [Op("F", m, part - 1)] if part else []
    return [Op("F", m, part)] + [Op("B", m, part + 1)] * (part < last)


def gpipe(stages, microbatches):
    """The list of each stage, in its order: all forward, then all back."""
    kinds, every = ("F", "B"), range(microbatches)
    return [[Op(k, m, s) for k in kinds for m in every] for s in range(stages)]


def in_turn(forward, back, early):
    """`early` forward ones, then one forward and one back in turn."""
    pairs = zip(forward[early:], back, strict=False)
    late = back[len(forward) - early :]
    return forward[:early] + [op for pair in pairs for op in pair] + late


def one_f_one_b(stages, microbatches):
    orders = []
    for forward_and_back in gpipe(stages, microbatches):
        forward = forward_and_back[:microbatches]
        early = stages - 1 - len(orders)  # the last stage turns at once
        back = forward_and_back[microbatches:]
        orders.append(in_turn(forward, back, min(early, microbatches)))
    return orders


def interleaved(stages, microbatches, chunks=2):
    """Stage s has the parts s, s + stages, …: `chunks` of them. Microbatches
    go in groups of `stages`: a group through one part, then the next."""
    if microbatches % stages:
        raise ValueError(f"{microbatches} is not a multiple of {stages}")
    orders, groups = [], range(0, microbatches, stages)
    for s in range(stages):
        turns = [
            (first + i, c)
            for first in groups
            for c in range(chunks)
            for i in range(stages)
        ]
        forward = [Op("F", m, c * stages + s) for m, c in turns]
        back = [Op("B", m, (chunks - 1 - c) * stages + s) for m, c in turns]
        early = 2 * (stages - 1 - s) + (chunks - 1) * stages
        orders.append(in_turn(forward, back, min(early, len(forward))))
    return orders


def table(orders, ticks=ONE):
    """[tick][stage] → Op or None: each stage does the next of its list as
    soon as what it needs was done in an earlier tick."""
    if not any(orders):
        raise ValueError("there is nothing to do: no microbatch")
    left, lanes, done = [list(o) for o in orders], [[] for _ in orders], {}
    last = max(op.part for mine in orders for op in mine)
    while any(left):
        heads = [(s, mine[0]) for s, mine in enumerate(left) if mine]
        ready = [o for o in heads if all(n in done for n in needs(o[1], last))]
        if not ready:
            waits = [f"stage {s} for {needs(op, last)[-1]}" for s, op in heads]
            raise ValueError("all wait: " + ", ".join(waits))
        for s, op in ready:
            start = max([len(lanes[s]), *(done[n] for n in needs(op, last))])
            idle = [None] * (start - len(lanes[s]))
            lanes[s] += idle + [op] * ticks[op.kind]
            done[op] = len(lanes[s])
            left[s].pop(0)
    return list(zip_longest(*lanes))


def bubble(rows):
    """The share of empty places in the table."""
    cells = [op for row in rows for op in row]
    return cells.count(None) / len(cells)


def kept(rows):
    """The most inputs that each stage keeps at once, from F to B."""
    now, most = [set() for _ in rows[0]], [0] * len(rows[0])
    for row, after in zip(
        rows, [*rows[1:], [None] * len(rows[0])], strict=True
    ):
        for s, op in enumerate(row):
            if op and op.kind == "F":
                now[s].add(op[1:])
            most[s] = max(most[s], len(now[s]))
            if op and op.kind == "B" and after[s] != op:
                now[s].remove(op[1:])
    return most


def labels(rows):
    """As a picture wants them: "F0"; of the second part of a stage "F0b"."""

    def label(op):
        chunk = op.part // len(rows[0])
        return f"{op.kind}{op.microbatch}{chr(ord('a') + chunk) * (chunk > 0)}"

    return [[label(op) if op else "" for op in row] for row in rows]


def in_step(rows, ticks):
    """The idle share where each stage exchanges with both its neighbours in
    the ring after every tick, and so waits for them."""
    ends = [0] * len(rows[0])
    for row in rows:
        work = [ticks[op.kind] if op else 0 for op in row]
        ends = [end + more for end, more in zip(ends, work, strict=True)]
        around = zip(ends[-1:] + ends, ends, ends[1:] + ends[:1], strict=False)
        ends = [max(three) for three in around]
    busy = sum(ticks[op.kind] for row in rows for op in row if op)
    return 1 - busy / (len(ends) * max(ends))
