"""Collect facts about a program as JSON data, from the compiler's answer and from the program's text."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from minipod.chips import chip
from minipod.hlo import text as hlo
from minipod.hlo.between_slices import following
from minipod.hlo.collectives import collectives
from minipod.hlo.groups import rows
from minipod.hlo.ops import Collective
from minipod.hlo.overlap import Overlap, overlaps
from minipod.hlo.work import work
from minipod.pods.bounds import estimate
from minipod.pods.slices import Slice
from minipod.ranges import counted

GIB = 2**30
_FULL = re.compile(r"HLO temporaries \(([\d.]+)([KMG])\) exceeds available HBM \(([\d.]+)([KMG])\)")
READ = ("flops", "moved", "from_host", "to_host", "kernels_sent", "unseen", "loops", "collectives", "overlaps")
_UNIT = {"K": 2**10, "M": 2**20, "G": GIB}


def facts(answer: Mapping[str, Any], on: Slice, mesh: Any, passes: int | None = None) -> dict[str, Any]:
    """Return the facts of a program as JSON data.

    These are `fits`, `full` (why not), `memory` (bytes for each device), `estimate` and what `read` returns; unknown
    figures are None, and `silent` is the reason. answer: of `compile_process`. mesh: of the program, as
    `minipod.pods.mesh` makes it. passes: number of iterations of loops of unknown length.
    """
    limit = int(on.generation.limit * GIB)
    nothing = dict.fromkeys((*READ, "estimate"))
    if message := answer.get("full"):
        memory = dict.fromkeys(("arguments", "outputs", "aliased", "temporaries", "peak"))
        memory["arguments"] = arguments = answer.get("arguments")
        if totals := _FULL.search(message):  # its "temporaries" contain the arguments
            memory["peak"] = int(float(totals[1]) * _UNIT[totals[2]])
            limit = int(float(totals[3]) * _UNIT[totals[4]])
            memory["temporaries"] = memory["peak"] if arguments is None else max(memory["peak"] - arguments, 0)
        first = message.splitlines()[0].removeprefix("RESOURCE_EXHAUSTED: ")
        more = {"largest": answer.get("largest", [])}
        return {"fits": False, "memory": memory | {"limit": limit}, "full": first, "silent": None, **nothing, **more}
    sizes = answer["memory"]
    names = {"arguments": "argument", "outputs": "output", "aliased": "alias", "temporaries": "temp", "peak": "peak"}
    memory = {name: sizes[of_xla] for name, of_xla in names.items()} | {"limit": limit}
    if host := sum(sizes.get(f"host_{part}") or 0 for part in ("argument", "output", "temp")):
        memory["host"] = host - (sizes.get("host_alias") or 0)
    silent = answer["silent"] and f"the compiler cannot print this program ({_start(answer['silent'])})"
    result = {"fits": True, "memory": memory, "full": None, "silent": silent, **nothing}
    peak = sizes["peak"] or sizes["argument"] + sizes["output"] - sizes["alias"] + sizes["temp"]
    if peak > limit:
        full = f"a device needs {peak / GIB:.2f} GiB at once, but has {limit / GIB:.2f} GiB"
        result |= {"fits": False, "full": full}
    if not answer["text"]:
        return result
    try:
        program = hlo.parse(answer["text"])
    except ValueError as reason:
        return result | {"silent": str(reason)}
    several = on.count > 1
    result |= read(program, dict(mesh.shape), answer.get("devices") if several else None, passes)
    if not several and not result["from_host"] and not result["to_host"]:
        result["estimate"] = estimated(program, on, mesh, passes)
    return result


def _start(message: str) -> str:
    """Return the first line of a message, cut after 120 characters."""
    first = message.strip().partition("\n")[0]
    return first if len(first) <= 120 else f"{first[:120]} …"


def estimated(program: hlo.Program, on: Slice, mesh: Any, passes: int | None = None) -> dict[str, float] | None:
    """Estimate the seconds of a step from the program's schedule, and how long the core waits for memory and network.

    Returns None if a figure is missing. If the text lacks it, `read` returns the reason; if the chip does,
    `minipod.pods.bounds`.
    """
    try:
        step = estimate(program, chip(on.generation.chip), mesh, passes or 1)
    except ValueError:
        return None
    return {"seconds": step.seconds, "for_memory": step.for_memory, "for_network": step.for_network}


def read(
    program: hlo.Program, axes: Mapping[str, int], numbers: Sequence[int] | None = None, passes: int | None = None
) -> dict[str, Any]:
    """Read all facts from a compiled program; `silent` is the reason for the first part that cannot be read.

    flops, moved, from_host, to_host, unseen, loops: as in `minipod.hlo.work`; kernels_sent: its `sent`. collectives,
    overlaps: those of the program. In FLOPs, bytes and the collectives' `times`, a loop of unknown length counts with
    its greatest length if that is known, else `passes` times, else once. `loops` has the number of such loops,
    {"at most": 1, "once": 2} or {"64 times": 2}.
    axes: of the mesh. numbers: of the devices of several slices, in the mesh's order.
    """
    result: dict[str, Any] = {}

    def worked() -> dict[str, Any]:
        done = vars(work(program, unknown=passes or 1))
        named = {"sent": "kernels_sent"}
        done["loops"] = {_counted(key, passes): count for key, count in done["loops"].items()}
        return {named.get(key, key): value for key, value in done.items()}

    def sent() -> dict[str, Any]:
        unknown = (passes or 1) if "loops" in result else None  # `loops` says so, if the work could be read
        order = following(numbers) if numbers else None
        return {"collectives": [_kept(c) for c in collectives(program, axes, unknown, order)]}

    def overlapping() -> dict[str, Any]:
        return {"overlaps": [vars(o) for o in overlaps(program)]}

    for part in (worked, sent, overlapping):
        try:
            result |= part()
        except ValueError as reason:
            result.setdefault("silent", str(reason))
    return result


def _counted(how_often: str, passes: int | None) -> str:
    """Return the key of `loops` for what `minipod.hlo.work` calls "once" or "at most"."""
    return counted(passes, "time") if passes and how_often == "once" else how_often


def _kept(c: Collective) -> dict[str, Any]:
    """Turn a collective into data, without its groups if they follow from the axes."""
    kept = {"op": c.op, "bytes": c.bytes, "times": c.times, "axes": c.axes, "branch": c.branch}
    return kept if c.axes is not None and c.op != "collective-permute" else kept | {"groups": c.groups}


def collective(kept: Mapping[str, Any], axes: Mapping[str, int]) -> Collective:
    """Restore a Collective from `kept`, its data in a recording. axes: of the mesh, with their sizes."""
    along = None if kept["axes"] is None else tuple(kept["axes"])
    groups = kept.get("groups")
    groups = rows(axes, along or ()) if groups is None else tuple(tuple(group) for group in groups)
    branch = tuple((int(a), int(b)) for a, b in kept["branch"])
    return Collective(kept["op"], groups, kept["bytes"], kept["times"], along, branch)


def overlap(kept: Mapping[str, Any]) -> Overlap:
    return Overlap(**kept)
