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
    of_host: tuple[int, int] = (0, 0),
) -> Seconds:
    """As `minipod.hlo.work` and `minipod.pods.facts.read` count; None where they do not, and `why` says why.

    of_host: bytes out of the host's memory, and into it: the link carries both ways at once, at best.
    """
    parts: dict[str, Part] = {
        "compute": (None, inf, ()) if flops is None else _part(lambda: compute_seconds_at_least(flops, chip)),
        "memory": (None, inf, ()) if moved is None else _part(lambda: _exactly(memory_seconds(moved, chip))),
        "network": (None, inf, ()) if collectives is None else _part(lambda: _network(collectives, chip, mesh)),
        "host": _part(lambda: _host(of_host, chip)),
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
    for passes in loops.keys() - {"once", "at most"}:
        said.append(f"loops that run an unknown number of times, counted {passes}, as --passes says: {loops[passes]}")
    known = {name: part[0] for name, part in parts.items()}
    return Seconds(**known, why=tuple(dict.fromkeys(said)), most_of=most)


def _part(figure: Callable[[], Part]) -> Part:
    try:
        return figure()
    except ValueError as reason:
        return None, inf, (str(reason),)


def _host(of_host: tuple[int, int], chip: Chip) -> Part:
    if not any(of_host):
        return 0.0, 0.0, ()
    if chip.host is None:
        both = f"{sum(of_host):,} bytes to and from the host's memory"
        raise ValueError(f"{chip.name} has no figure for the speed of {both}: they are not counted")
    return max(of_host) / chip.host, sum(of_host) / chip.host, ()


def _exactly(found: float) -> Part:
    return float(found), float(found), ()


def _network(collectives: Sequence[Collective], chip: Chip, mesh: Any) -> Part:
    """What is only bounded below would take at most as if each device of the mesh had to pass it on to the next."""
    found = traffic.at_least(collectives, chip.carrier, mesh)
    return found.seconds, found.seconds + found.bounded * (mesh.devices.size - 1), found.notes
