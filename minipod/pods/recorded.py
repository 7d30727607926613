"""Find plans that were compiled earlier, for machines without libtpu, in `plans.json` next to the program's file.

`save` writes the entry that `entry` makes for each compiled program. A recording is found by slice, mesh, arguments and
the program as JAX traces it. A different version of JAX may trace the same program differently: then the recording with
the program's name is used, and the plan says which versions made it.
"""

import hashlib
import json
import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import jax

from minipod.pods.absent import mesh
from minipod.pods.compiler import Missing, Traced, missing
from minipod.pods.plan import Plan, plan
from minipod.pods.slices import slice_of

FILE = "plans.json"
# A set of strings as Python prints it: each process has an order of its own.
NAMES = re.compile(r"\{('[^'{}]*'(?:, '[^'{}]*')+)\}")


class Stale(RuntimeError):
    """Raised if a recording belongs to a different program."""


def place(traced: Traced) -> str:
    """Return the slice, the mesh, and a hash of devices and arguments of a program: `v5e:2x2, data=4: HASH`."""
    axes = ", ".join(f"{name}={size}" for name, size in traced.mesh.shape.items())
    arguments = [f"{a.dtype}{list(a.shape)}@{(*a.sharding.spec,)}" for a in traced.leaves]
    devices = [device.id for device in traced.mesh.devices.flat]
    return f"{traced.on}, {axes}: {_sum(f'{devices} {arguments}')}"


def names(traced: Traced) -> list[str]:
    """Return the names of a program: the one that the user asked for, and its function's."""
    return [*dict.fromkeys((traced.name, traced.function))]


def digest(traced: Traced) -> str:
    """Hash the traced program without the parts that differ from run to run: addresses and the order of sets."""
    text = re.sub(r" at 0x[0-9a-f]+", "", str(traced.jaxpr)) + (str(traced.layouts) if traced.layouts else "")
    return _sum(NAMES.sub(lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text))


def find(traced: Traced, folder: Path | None) -> dict[str, Any]:
    """Return the recording of a program: `{"facts": …, "versions": …}`.

    Raises Missing if nothing is recorded for its slice, mesh and arguments, Stale if the recording is of a different
    program.
    """
    entries = [e for e in load(folder) if e["place"] == place(traced)] if folder else []
    same = [e for e in entries if e["program"] == digest(traced)]
    namesakes = [e for e in entries if traced.name in e["names"]]
    if same:
        return same[0]
    if len(namesakes) == 1 and namesakes[0]["versions"]["jax"] != jax.__version__:
        return namesakes[0]
    install = f"`pip install {' '.join(missing(traced.on.generation.platform))}`"
    if namesakes:
        raise Stale(
            f"the plan recorded for {traced.name} on {traced.on} is not of the program that JAX {jax.__version__} "
            f"traces: {install} to compile it"
        )
    where = place(traced).rpartition(":")[0]
    raise Missing(
        f"nothing is recorded for {traced.name} with these arguments on {where}, and the compiler is not installed: "
        f"{install}"
    )


def load(folder: Path) -> list[dict[str, Any]]:
    """Return all recordings of a folder, [] without a `plans.json`. Raises ValueError if that holds no recordings."""
    path = folder / FILE
    try:
        entries = json.loads(path.read_text("utf-8"))
        needed = itemgetter("place", "program", "names", "versions", "facts")
        return [e for e in entries if all(needed(e)) and e["versions"]["jax"]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} contains no recorded plans: restore the one that came with the program") from None


def plans(folder: Path, name: str, on: str, **axes: int) -> list[Plan]:
    """Return a program's recorded plans on a slice: only for the mesh with these axes or, without axes, all."""
    plans, on = [], str(slice_of(on))
    for each in load(folder):
        slice_name, _, rest = each["place"].partition(", ")
        pairs = (pair.split("=") for pair in rest.partition(":")[0].split(", "))
        sizes = {axis: int(size) for axis, size in pairs}
        if name in each["names"] and slice_name == on and axes in ({}, sizes):
            plans.append(plan(name, on, mesh(on, **sizes), each["facts"], each["versions"], recorded=True))
    return plans


def entry(traced: Traced, facts: dict[str, Any], versions: dict[str, str]) -> dict[str, Any]:
    """Make a recording of a traced program: versions of JAX and the compiler, and what `facts.facts` says of it."""
    key = {"place": place(traced), "names": names(traced), "program": digest(traced)}
    return key | {"versions": versions, "facts": facts}


def save(entries: list[dict[str, Any]], folder: Path) -> None:
    """Write these recordings into the folder's `plans.json`, one per line."""
    lines = [json.dumps(each, separators=(",", ":")) for each in entries]
    (folder / FILE).write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
