"""What a compiler said of a program, as data that can be kept: from its answer, and from its text."""

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from minipod.chips import chip
from minipod.hlo import text as hlo
from minipod.hlo.between_slices import following
from minipod.hlo.collectives import collectives
from minipod.hlo.ops import Collective
from minipod.hlo.overlap import Overlap, overlaps
from minipod.hlo.work import work
from minipod.pods.estimate import estimate
from minipod.pods.slices import Slice

GIB = 2**30
_FULL = re.compile(r"HLO temporaries \(([\d.]+)([KMG])\) exceeds available HBM \(([\d.]+)([KMG])\)")
READ = ("flops", "moved", "kernels_sent", "unseen", "loops", "collectives", "overlaps")
_UNIT = {"K": 2**10, "M": 2**20, "G": GIB}


def facts(answer: Mapping[str, Any], on: Slice, mesh: Any) -> dict[str, Any]:
    """JSON data: `fits`, `memory` (bytes a device), and what `read` finds; None where the compiler does not say it, and
    then `silent` says why. `full` is the compiler's own message where it does not fit. mesh: `minipod.pods.mesh`.
    """
    limit = int(on.generation.limit * GIB)
    nothing = dict.fromkeys((*READ, "estimate"))
    if message := answer.get("full"):
        memory = dict.fromkeys(("arguments", "outputs", "aliased", "temporaries", "peak"))
        memory["arguments"] = arguments = answer.get("arguments")
        if found := _FULL.search(message):  # what it calls temporaries holds the arguments, too
            memory["peak"] = int(float(found[1]) * _UNIT[found[2]])
            limit = int(float(found[3]) * _UNIT[found[4]])
            memory["temporaries"] = memory["peak"] if arguments is None else max(memory["peak"] - arguments, 0)
        first = message.splitlines()[0].removeprefix("RESOURCE_EXHAUSTED: ")
        more = {"largest": answer.get("largest", [])}
        return {"fits": False, "memory": memory | {"limit": limit}, "full": first, "silent": None, **nothing, **more}
    said = answer["memory"]
    memory = {
        "arguments": said["argument"],
        "outputs": said["output"],
        "aliased": said["alias"],
        "temporaries": said["temp"],
        "peak": said["peak"],
        "limit": limit,
    }
    if host := sum(said.get(f"host_{part}") or 0 for part in ("argument", "output", "temp")):
        memory["host"] = host - (said.get("host_alias") or 0)
    silent = answer["silent"] and f"the compiler cannot print this program ({answer['silent'][:120]} …)"
    found = {"fits": True, "memory": memory, "full": None, "silent": silent, **nothing}
    peak = said["peak"] or said["argument"] + said["output"] - said["alias"] + said["temp"]
    if peak > limit:
        found |= {
            "fits": False,
            "full": f"{peak / GIB:.2f} GiB are needed at once, and a chip has {limit / GIB:.2f} GiB",
        }
    if answer["text"]:
        several = on.count > 1
        found |= read(answer["text"], dict(mesh.shape), answer.get("devices") if several else None)
        found["estimate"] = None if several else estimated(answer["text"], on, mesh)
    return found


def estimated(text: str, on: Slice, mesh: Any) -> dict[str, float] | None:
    """Seconds of a step by the program's own schedule, and what of it the core waits for its memory and the network.

    None where it has no figure: `read` says why the text has none, `minipod.pods.times` why a time has none.
    """
    try:
        found = estimate(hlo.parse(text), chip(on.generation.chip), mesh)
    except ValueError:
        return None
    return {"seconds": found.seconds, "for_memory": found.for_memory, "for_network": found.for_network}


def read(text: str, axes: Mapping[str, int], numbers: Sequence[int] | None = None) -> dict[str, Any]:
    """What the text says, each where that much is understood; `silent` names the first thing that is not.

    flops, moved, unseen, loops: as in `minipod.hlo.work`; kernels_sent: its `sent`. collectives, overlaps: those of the
    program. A loop that runs an unknown number of times counts as often as it may at most, else once, in FLOPs, bytes
    and the collectives' `times`: `loops` says so ({"at most": 1, "once": 2}; {} where all are known).
    numbers: those of the devices of several slices, in the mesh's order.
    """
    try:
        program = hlo.parse(text)
    except ValueError as reason:
        return {"silent": str(reason)}
    found: dict[str, Any] = {}
    for part in (_worked, _sent, _overlapping):
        try:
            found |= part(program, axes, numbers, found)
        except ValueError as reason:
            found.setdefault("silent", str(reason))
    return found


def _worked(program: hlo.Program, *_: Any) -> dict[str, Any]:
    done = vars(work(program, unknown=1))
    return {"kernels_sent" if key == "sent" else key: value for key, value in done.items()}


def _sent(
    program: hlo.Program, axes: Mapping[str, int], numbers: Sequence[int] | None, found: Mapping[str, Any]
) -> dict[str, Any]:
    unknown = 1 if "loops" in found else None  # as often as `loops` says, where that is there
    order = following(numbers) if numbers else None
    return {"collectives": [_kept(c) for c in collectives(program, axes, unknown, order)]}


def _overlapping(program: hlo.Program, *_: Any) -> dict[str, Any]:
    return {"overlaps": [vars(o) for o in overlaps(program)]}


def _kept(c: Collective) -> dict[str, Any]:
    """A collective without its groups, where the axes say them."""
    kept = {"op": c.op, "bytes": c.bytes, "times": c.times, "axes": c.axes, "branch": c.branch}
    return kept if c.axes is not None and c.op != "collective-permute" else kept | {"groups": c.groups}


def collective(kept: Mapping[str, Any], axes: Mapping[str, int]) -> Collective:
    """A collective again, with its groups."""
    along = None if kept["axes"] is None else tuple(kept["axes"])
    groups = kept.get("groups")
    groups = rows(axes, along or ()) if groups is None else tuple(tuple(group) for group in groups)
    branch = tuple((int(a), int(b)) for a, b in kept["branch"])
    return Collective(kept["op"], groups, kept["bytes"], kept["times"], along, branch)


def rows(axes: Mapping[str, int], along: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The groups of a mesh whose devices differ along these axes: positions in the order of `mesh.devices.flat`."""
    places = np.arange(prod(axes.values())).reshape([*axes.values()])
    names = list(axes)
    inner = [names.index(a) for a in names if a in along]
    outer = [i for i in range(len(names)) if i not in inner]
    lines = places.transpose([*outer, *inner]).reshape(-1, prod(axes[names[i]] for i in inner))
    return tuple(tuple(int(i) for i in line) for line in lines)


def overlap(kept: Mapping[str, Any]) -> Overlap:
    return Overlap(**kept)
