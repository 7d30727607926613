"""How long a plan's arithmetic, memory and network would take, each alone; what is missing in them, and what it could
turn.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from minipod import traffic
from minipod.chips import Chip
from minipod.hlo.ops import Collective
from minipod.roofline import BOUNDS, Seconds, compute_seconds_at_least, memory_seconds

Part = tuple[float | None, float, tuple[str, ...]]  # seconds; at most; sentences


def seconds(
    chip: Chip,
    mesh: Any,
    flops: Mapping[str, int] | None,
    moved: int | None,
    collectives: Sequence[Collective] | None,
    why: str,
    unseen: Mapping[str, int],
    loops: Mapping[str, int],
    kernels_sent: int,
) -> Seconds:
    """As `minipod.hlo.work` and `minipod.pods.facts.read` count; None where they do not, and `why` says why."""
    parts: dict[str, Part] = {
        "compute": (None, inf, ()) if flops is None else _part(lambda: compute_seconds_at_least(flops, chip)),
        "memory": (None, inf, ()) if moved is None else _part(lambda: _exactly(memory_seconds(moved, chip))),
        "network": (None, inf, ()) if collectives is None else _part(lambda: _network(collectives, chip, mesh)),
    }
    said = [why] * any(part[0] is None and not part[2] for part in parts.values())
    said += [sentence for part in parts.values() for sentence in part[2]]
    most = {name: at_most for name, (least, at_most, _) in parts.items() if at_most > (least or 0)}
    if kernels_sent:
        most["network"] = inf
        said.append(f"network leaves out {kernels_sent:,} bytes that kernels send by themselves")
    if unseen:
        most |= dict.fromkeys(BOUNDS, inf)
        names = ", ".join(f"{name} ({count} ×)" for name, count in unseen.items())
        said.append(f"kernels that say no cost, of which only operands and results are counted: {names}")
    if once := loops.get("once"):
        most |= dict.fromkeys(BOUNDS, inf)
        said.append(f"loops that run an unknown number of times, counted once: {once}")
    if bounded := loops.get("at most"):
        said.append(f"loops that may end earlier, counted as often as they may run: {bounded}")
    return Seconds(*(parts[name][0] for name in BOUNDS), why=tuple(dict.fromkeys(said)), most_of=most)


def _part(figure: Callable[[], Part]) -> Part:
    try:
        return figure()
    except ValueError as reason:
        return None, inf, (str(reason),)


def _exactly(found: float) -> Part:
    return float(found), float(found), ()


def _network(collectives: Sequence[Collective], chip: Chip, mesh: Any) -> Part:
    """What is only bounded below would take at most as if each device of the mesh had to pass it on to the next."""
    found = traffic.at_least(collectives, chip.carrier, mesh)
    return found.seconds, found.seconds + found.bounded * (mesh.devices.size - 1), found.notes
