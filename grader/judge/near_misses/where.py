"""Which of the numbers differ: the ends, the edges of shards, one device's part, one process, the padding."""

import numpy as np

from grader.judge.near_misses.pair import Pair
from grader.messages import Message


def some(p: Pair) -> Message | None:
    """Where an array of the right shape is wrong, told by its structure as far as that goes."""
    bad = p.apart(p.got, p.expected)
    if not bad.any():
        return None
    whole = box(np.ones_like(bad))
    where = box(bad)
    within: Message = Message("throughout") if where == whole else Message("within", {"where": where})
    count: dict[str, object] = {"bad": int(bad.sum()), "all": bad.size, "where": where, "within": within}
    for look in (_ends, _edges, _padding):
        if said := look(p, bad):
            return said
    if said := _parts(p, bad, count):
        return said
    if 2 < bad.sum() < bad.size and not p.got[bad].any():
        return Message("some-zeros", count)
    if bad.mean() > 0.75 or bad.size < 4:
        return None
    return _one_end(p, bad) or Message("some", count)


def _ends(p: Pair, bad: np.ndarray) -> Message | None:
    """Exactly the first and the last along one axis."""
    for axis in p.long_axes(4):
        rows, n = _rows(bad, axis), bad.shape[axis]
        if list(rows) == [0, n - 1]:
            return Message("both-ends", {"axis": axis, "n": n})
    return None


def _edges(p: Pair, bad: np.ndarray) -> Message | None:
    """Where the blocks of the devices begin, or end, in two blocks or more; nothing else."""
    for axis in p.long_axes(4):
        rows, length = _rows(bad, axis), p.shard(axis)
        if length < 2 or len({row // length for row in rows}) < 2:
            continue
        places = {int(row) % length for row in rows}
        for key, edges in (("edges-first", {0}), ("edges-last", {length - 1}), ("edges", {0, length - 1})):
            if places <= edges and (length > 2 or len(edges) == 1):
                return Message(key, {"axis": axis})
    return None


def _padding(p: Pair, bad: np.ndarray) -> Message | None:
    """Only among the zeros with which an axis should end."""
    for axis in p.long_axes(3):
        others = tuple(a for a in range(bad.ndim) if a != axis)
        filled = np.flatnonzero(p.expected.any(axis=others))
        n, rows = bad.shape[axis], _rows(bad, axis)
        if filled.size and filled[-1] + 1 < n and rows[0] > filled[-1]:
            return Message("padding", {"axis": axis, "k": int(n - 1 - filled[-1])})
    return None


def _parts(p: Pair, bad: np.ndarray, count: dict[str, object]) -> Message | None:
    """Some devices' parts are right, those of others are not."""
    pieces = p.pieces()
    right = [(devices, block) for devices, block in pieces if not bad[block].any()]
    wrong = [(devices, block) for devices, block in pieces if bad[block].any()]
    through = all(bad[block].mean() > 0.5 for _, block in wrong)
    if not (right and wrong and through and p.varied(p.expected)):
        return None
    if len(right) == 1 and len(wrong) > 1:
        key = "only-one-zeros" if all(not p.got[b].any() for _, b in wrong) else "only-one"
        return _of(key, right[0][0], pieces.index(right[0])) or Message("some", count)
    if len(wrong) == 1 and (said := _of("all-but-one", wrong[0][0], pieces.index(wrong[0]), count)):
        return said
    fine, faulty = ({d for devices, _ in some for d in devices or ()} for some in (right, wrong))
    if not fine or not faulty or fine & faulty:
        return None
    each = p.setting.devices // p.setting.processes
    owners = {d // each for d in faulty}
    if p.setting.processes > 1 and len(owners) == 1 and not owners & {d // each for d in fine}:
        return Message("one-process", {"process": owners.pop()})
    zeros = "-zeros" if all(not p.got[b].any() for _, b in wrong) else ""
    return Message("some-devices" + zeros, {"wrong": _list(faulty), "right": _list(fine)})


def _one_end(p: Pair, bad: np.ndarray) -> Message | None:
    """The last few along an axis, or the first few."""
    for axis in p.long_axes(3):
        rows, n = _rows(bad, axis), bad.shape[axis]
        if len(rows) < n and rows[0] > 0 and rows[-1] == n - 1 and len(rows) == n - rows[0]:
            return Message("last" if len(rows) > 1 else "last-one", {"axis": axis, "k": len(rows), "n": n})
        if len(rows) < n and rows[0] == 0 and rows[-1] == len(rows) - 1:
            return Message("first" if len(rows) > 1 else "first-one", {"axis": axis, "k": len(rows), "n": n})
    return None


def _rows(bad: np.ndarray, axis: int) -> np.ndarray:
    """The places along an axis where anything is marked."""
    return np.flatnonzero(bad.any(axis=tuple(a for a in range(bad.ndim) if a != axis)))


def _of(key: str, devices: tuple[int, ...] | None, n: int, more: dict[str, object] | None = None) -> Message | None:
    """About a piece: the device that holds it, or its number among the parts of an array on the host."""
    if devices is None:
        return Message(f"{key}-part", {"n": n} | (more or {}))
    return Message(key, {"device": devices[0]} | (more or {})) if len(devices) == 1 else None


def _list(devices: set[int]) -> tuple[int, ...]:
    return (*sorted(devices),)


def at(index: np.ndarray) -> str:
    """An index as it is shown."""
    return "[" + ", ".join(map(str, index)) + "]"


def box(bad: np.ndarray) -> str:
    """The smallest block that holds all that is marked: `[4:8, 0:5]`."""
    where = np.argwhere(bad)
    return "[" + ", ".join(f"{a}:{b + 1}" for a, b in zip(where.min(0), where.max(0), strict=True)) + "]"
