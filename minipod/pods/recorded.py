"""Plans that were compiled earlier, for those who have no libtpu: `plans.json`, beside the file of the program.

A lesson's `plans.txt` names them, a line each as one would give it to `minipod plan`, and the book's recorder makes
them where libtpu is. A recording is found by slice, mesh, arguments, and the program as JAX traces it. Another JAX may
write the same program in other words: then that of the same name is taken, and says its versions.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jax

from minipod.pods.absent import mesh
from minipod.pods.compiler import Missing, Traced, missing
from minipod.pods.plan import Plan, plan
from minipod.pods.slices import slice_of

FILE = "plans.json"
NAMES = re.compile(
    r"\{('[^'{}]*'(?:, '[^'{}]*')+)\}"
)  # a set as Python writes it; each process orders it in its own way


class Stale(RuntimeError):
    """The recording is of another program."""


def place(traced: Traced) -> str:
    """What a program is compiled for: slice and mesh, in words, and a sum over devices and arguments."""
    axes = ", ".join(f"{name}={size}" for name, size in traced.mesh.shape.items())
    arguments = [f"{a.dtype}{list(a.shape)}@{(*a.sharding.spec,)}" for a in traced.leaves]
    devices = [device.id for device in traced.mesh.devices.flat]
    return f"{traced.on}, {axes}: {_sum(f'{devices} {arguments}')}"


def names(traced: Traced) -> list[str]:
    """By which a program is known: the reader's name for it, and its own."""
    return [*dict.fromkeys((traced.name, traced.function))]


def digest(traced: Traced) -> str:
    """Of the program itself, without what differs from run to run: addresses, and the order of a set of names."""
    text = re.sub(r" at 0x[0-9a-f]+", "", str(traced.jaxpr))
    return _sum(NAMES.sub(lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text))


def find(traced: Traced, folder: Path | None) -> dict[str, Any]:
    """`{"facts": …, "versions": …}`. Missing where nothing is recorded, Stale where it is of another program."""
    kept = [e for e in load(folder) if e["place"] == place(traced)] if folder else []
    if found := [e for e in kept if e["program"] == digest(traced)]:
        return found[0]
    alike = [e for e in kept if traced.name in e["names"]]
    if len(alike) == 1 and alike[0]["versions"]["jax"] != jax.__version__:
        return alike[0]
    if alike:
        raise Stale(
            f"what is recorded for {traced.name} on {traced.on} is of another program: `pip install "
            f"{' '.join(missing(traced.on.generation.platform))}` to compile this one"
        )
    raise Missing(
        f"nothing is recorded for {traced.name} on {traced.on}, and nothing can be compiled: `pip install "
        f"{' '.join(missing(traced.on.generation.platform))}` (some 200 MB)"
    )


def load(folder: Path) -> list[dict[str, Any]]:
    """What is recorded in a folder. ValueError for a file that is none of ours."""
    path = folder / FILE
    try:
        kept = json.loads(path.read_text("utf-8"))
        return [e for e in kept if e["place"] and e["program"] and e["names"] and e["versions"]["jax"] and e["facts"]]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} holds no recorded plans: put back the one that came with the program") from None


def plans(folder: Path, name: str, on: str, **axes: int) -> list[Plan]:
    """What is recorded in a folder of the program of this name on this slice: for one mesh, or for all there are."""
    found, on = [], str(slice_of(on))
    for each in load(folder):
        slice_name, _, rest = each["place"].partition(", ")
        pairs = (pair.split("=") for pair in rest.partition(":")[0].split(", "))
        sizes = {axis: int(size) for axis, size in pairs}
        if name in each["names"] and slice_name == on and axes in ({}, sizes):
            found.append(plan(name, on, mesh(on, **sizes), each["facts"], each["versions"], recorded=True))
    return found


def entry(traced: Traced, facts: dict[str, Any], versions: dict[str, str]) -> dict[str, Any]:
    """A recording: of which program and arguments, with which versions, and what was found."""
    found = {"place": place(traced), "names": names(traced), "program": digest(traced)}
    return found | {"versions": versions, "facts": facts}


def save(entries: list[dict[str, Any]], folder: Path) -> None:
    """Write them all, a line each."""
    lines = [json.dumps(each, separators=(",", ":")) for each in entries]
    (folder / FILE).write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
