"""Draw devices in a box per host, and a function mapped over all devices, with Graphviz."""

from collections.abc import Sequence
from typing import Any, Protocol

import jax

from minipod.drawing import graph
from minipod.drawing.phrases import Phrase, alt_text, few, several
from minipod.drawing.phrases import devices as named
from minipod.drawing.svg import Picture, text_width
from minipod.ranges import counted

PER_ROW = 4  # devices side by side in a host: words stay readable on a phone


class Device(Protocol):
    """The attributes of a device that a picture reads; jax.Device has both."""

    @property
    def id(self) -> int: ...
    @property
    def process_index(self) -> int: ...


Groups = dict[int, list[Device]]  # process_index → its devices


def devices(devices: Sequence[Device] | None = None) -> Picture:
    """Draw devices (by default `jax.devices()`) in one box per host, that is, per `process_index`.

    Raises TypeError unless `devices` is a list of devices, ValueError for an empty one.
    """
    groups = _by_host(devices)
    g = graph.graph(rankdir="TB", nodesep="0.14", ranksep="0.14")
    largest, room = max(map(len, groups.values())), 64 // min(len(groups), 8)
    most = room if largest <= room else min(room, 4 * PER_ROW)
    above = ""  # a node of the host drawn before, under which the next host goes
    for host in few(len(groups), 8):
        names = _host(g, groups, host, most, PER_ROW)
        if above:
            g.edge(above, names[0], style="invis", weight="10")
        above = names[(len(names) - 1) // PER_ROW * PER_ROW]
    return graph.render(g, alt_text("devices", _says(groups)))


def hosts(devices: Sequence[Device] | None = None, function: str = "f", collective: str = "psum") -> Picture:
    """Draw the devices of each host, `function` mapped over all of them, and `collective` between all of them.

    devices: by default `jax.devices()`. Each host (`process_index`) has a box. Arrows lead from the function to every
    device and on to the collective; a dashed arrow leads back with the combined result. Raises the errors of `devices`.
    """
    groups = _by_host(devices)
    g = graph.graph(rankdir="LR", nodesep="0.13", ranksep="0.62")
    graph.node(g, "function", function, "function code", max(60.0, text_width(function, 12, True) + 26), 38)
    most = 8 if len(groups) == 1 else 4 if len(groups) > 2 else 6
    names = [n for host in few(len(groups), 4) for n in _host(g, groups, host, most)]
    wide = text_width(collective, 12, True)
    graph.node(g, "collective", collective, "collective code", wide * 1.5 + 50, 66, shape="diamond", style="filled")
    for name in names:
        look = {"style": "invis"} if name.startswith("more") else {}
        g.edge("function", name, **look)
        g.edge(name, "collective", **look)
    # The way back runs below the hosts, through its own label: both ends keep their rank, only the tip is reversed.
    graph.node(g, "back", "combined result", "plain", text_width("combined result") + 8, 22)
    g.edge("function", "back", dir="back", weight="0", **{"class": "dash"})
    g.edge("back", "collective", dir="none", weight="0", **{"class": "dash"})
    return graph.render(g, alt_text("hosts", _says(groups), ["mapped", function, collective]))


def _host(g: Any, groups: Groups, host: int | None, most: int, per_row: int = 0) -> list[str]:
    """Add the box of the host at position `host` with at most `most` devices; None stands for the hosts left out.

    per_row: devices side by side (from the top down); 0: one below the other (from left to right), and the box says
    `process_index` too. Returns the names of the nodes.
    """
    if host is None:
        hidden = len(groups) - (7 if per_row else 3)
        graph.node(g, "more", counted(hidden, "more host"), "plain", 110)
        return ["more"]
    process = list(groups)[host]
    members, names, most = groups[process], [], max(most, 3)
    width = 58.0 + 8 * max(len(str(d.id)) for group in groups.values() for d in group)
    with g.subgraph(name=f"cluster_{process}") as box:
        note = "" if per_row else f"\\nprocess_index {process}"
        box.attr(label=f"host {process}{note}", style="rounded", margin="12")
        width = width if per_row else max(width, text_width("process_index 0", 12, True))
        for i in few(len(members), most):
            if i is None:
                names.append(f"more_{process}")
                graph.node(box, names[-1], f"{len(members) - most + 1} more", "plain", width)
            else:
                names.append(f"device_{process}_{i}")
                graph.node(box, names[-1], f"device {members[i].id}", "device", width)
        rows = [names[i : i + (per_row or most)] for i in range(0, len(names), per_row or most)]
        for row in rows:
            # Graphviz lays a rank of rankdir=LR out from the bottom up
            row = row if per_row else row[::-1]
            with box.subgraph(graph_attr={"rank": "same"}) as same:
                for a, b in zip(row, row[1:], strict=False):
                    same.edge(a, b, style="invis")
        for upper, lower in zip(rows, rows[1:], strict=False):
            for a, b in zip(upper, lower, strict=False):
                box.edge(a, b, style="invis", weight="10")
    return names


def _by_host(devices: Sequence[Device] | None) -> Groups:
    """Return the devices of each host, in the order given. Raises TypeError or ValueError for others."""
    try:
        chosen = list(jax.devices() if devices is None else devices)
    except TypeError:
        kind = type(devices).__name__
        raise TypeError(f"expected a list of devices such as jax.devices(), got {kind}") from None
    if not chosen:
        raise ValueError("there is no device to draw: give a list of devices such as jax.devices()")
    groups: Groups = {}
    for device in chosen:
        if not hasattr(device, "process_index"):
            raise TypeError(f"expected a list of devices such as jax.devices(), found {type(device).__name__} in it")
        groups.setdefault(device.process_index, []).append(device)
    return dict(sorted(groups.items()))


def _says(groups: Groups) -> Phrase:
    total = sum(map(len, groups.values()))
    each = [["has", p, named([d.id for d in members])] for p, members in groups.items()]
    return ["on", ["count", total], ["hosts", len(groups)], several(each)]
