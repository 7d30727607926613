"""Read groups of devices: the spellings of `replica_groups`, and the mesh axes along which the groups lie."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

Groups = tuple[tuple[int, ...], ...]

_LIST = re.compile(r"\{(\s*\{[\d,\s]*\}\s*,?)*\s*\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"mesh\[([^\]]*)\](?:, device_ids=\((.*)\))?(?: \{([^}]*)\})?")
_AXIS = re.compile(r"'?([^':=]+)'?(?::\((\d+)\)(\d+))?")


def _numbers(text: str) -> list[int]:
    return [int(n) for n in text.split(",") if n.strip()]


def _as_groups(rows: np.ndarray) -> Groups:
    return tuple(tuple(int(n) for n in row) for row in rows)


def _mesh_form(text: str) -> Groups:
    """`mesh['x'=2,'y'=4] {'y'}`, with `device_ids=(…)` before the axes if the devices are not in order, and `'y':(2)2`
    for part of an axis: the 4 places on y are split as 2 × 2 × 1, and the groups lie along the middle."""
    form = _MESH.fullmatch(text)
    if not form:
        raise ValueError("this mesh form of replica_groups is not understood")
    pairs = [part.rpartition("=") for part in form[1].split(",") if part]
    names, sizes = [p[0].strip("' ") for p in pairs], [int(p[2]) for p in pairs]
    ids = np.arange(math.prod(sizes))
    if order := form[2]:
        if iota := re.fullmatch(r"\[([\d,]+)\](?:T\(([\d,]+)\))?", order):
            ids = ids.reshape(_numbers(iota[1])).transpose(_numbers(iota[2]) if iota[2] else None)
        else:
            ids = np.array(_numbers(order))
    # Cut every axis into (before, part, after); `moving` are the places of the parts that vary inside a group.
    cut, moving = {name: [1, size, 1] for name, size in zip(names, sizes, strict=True)}, []
    parts = [_AXIS.fullmatch(axis.strip()) for axis in (form[3] or "").split(",") if axis.strip()]
    for part in parts:
        if not part or part[1] not in cut or [p[1] for p in parts if p].count(part[1]) > 1:
            raise ValueError("this mesh form of replica_groups is not understood")
        if part[2]:
            before, inside = int(part[2]), int(part[3])
            cut[part[1]] = [before, inside, cut[part[1]][1] // (before * inside)]
        moving.append(3 * names.index(part[1]) + 1)
    shape = [n for name in names for n in cut[name]]
    still = [i for i in range(len(shape)) if i not in moving]
    rows = ids.reshape(shape).transpose(still + moving)
    return _as_groups(rows.reshape(-1, math.prod(shape[i] for i in moving)))


def spelled(text: str) -> Groups:
    """Return the groups that `text` spells: `{{0,4},{1,5}}`, `{}` (no groups), `[2,4]<=[4,2]T(1,0)`, or the mesh form.

    Raises ValueError for any other text.
    """
    text = text.strip()
    if text.startswith("mesh"):
        return _mesh_form(text)
    if iota := _IOTA.fullmatch(text):
        ids = np.arange(math.prod(_numbers(iota[2]))).reshape(_numbers(iota[2]))
        return _as_groups(ids.transpose(_numbers(iota[3]) if iota[3] else None).reshape(_numbers(iota[1])))
    if _LIST.fullmatch(text):
        return tuple(tuple(_numbers(group)) for group in re.findall(r"\{([\d,\s]*)\}", text[1:-1]))
    raise ValueError("replica_groups in an unknown form")


def positions(groups: Groups, mode: str, replicas: int, partitions: int) -> Groups:
    """Return groups of device positions, 0 … replicas × partitions - 1, for groups of numbers as in the text.

    mode: what the numbers are. "flat": positions. "replica": replicas, separately for each partition. "partition":
    partitions, separately for each replica. "both": replicas, each with all of its partitions. No groups: one group
    of all.
    """
    everyone = {"flat": replicas * partitions, "partition": partitions}.get(mode, replicas)
    groups = groups or (tuple(range(everyone)),)
    if mode == "replica":
        return tuple(tuple(r * partitions + p for r in g) for g in groups for p in range(partitions))
    if mode == "partition":
        return tuple(tuple(r * partitions + p for p in g) for r in range(replicas) for g in groups)
    if mode == "both":
        return tuple(tuple(r * partitions + p for r in g for p in range(partitions)) for g in groups)
    return groups


def axes(groups: Groups, mesh: Mapping[str, int], pairs: bool = False) -> tuple[str, ...] | None:
    """Return the axes of `mesh` (name → size, as `Mesh.shape`) along which devices of a group differ, in order.

    None if the groups are not the rows of the mesh along some axes. pairs: whether these are the pairs of a permute;
    then the result is all axes along which a source and its target differ. Raises ValueError if a position is not in
    the mesh.
    """
    names, sizes = list(mesh), list(mesh.values())
    if max(itertools.chain(*groups), default=0) >= math.prod(sizes):
        raise ValueError(f"the program runs on more devices than the mesh {dict(mesh)} has")

    def differ(group: Sequence[int]) -> set[int]:
        places = np.array(np.unravel_index(list(group), sizes)).T if sizes else np.zeros((len(group), 0))
        return {axis for axis in range(len(names)) if len(set(places[:, axis])) > 1}

    along = tuple(names[axis] for axis in sorted(set().union(*map(differ, groups))))
    if pairs or {frozenset(group) for group in groups} == {frozenset(row) for row in rows(mesh, along)}:
        return along
    return None


def rows(axes: Mapping[str, int], along: Sequence[str]) -> Groups:
    """Return the groups of a mesh whose devices differ only along some axes, as positions in `mesh.devices.flat`.

    axes: name → size, as `Mesh.shape`.

        >>> from minipod import pods
        >>> pods.rows({"data": 2, "model": 3}, ["model"])
        ((0, 1, 2), (3, 4, 5))
    """
    names = list(axes)
    inner = [i for i, name in enumerate(names) if name in along]
    outer = [i for i, name in enumerate(names) if name not in along]
    places = np.arange(math.prod(axes.values())).reshape([*axes.values()]).transpose([*outer, *inner])
    return _as_groups(places.reshape(-1, math.prod(axes[names[i]] for i in inner)))
