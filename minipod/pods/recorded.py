"""Plans that were compiled earlier, for those who have no libtpu: `plans.json`, beside the file of the program.

`make record PODS=1` renews them: it makes every plan that a lesson's `plans.txt` names, a line each as one would give
it to `minipod plan`. A recording is found by the function's name, the slice, the mesh and the arguments; it says with
which versions it was made, and of which program. Another program under the same JAX is an error; under another JAX,
which writes the same program in other words, the recording is taken, and says its versions.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jax

from minipod.pods.compiler import Missing, Traced

FILE = "plans.json"


class Stale(RuntimeError):
    """The recording is of another program."""


def label(traced: Traced) -> str:
    """`step on v5e:2x4, data=8: bf16[24,8192,32768]@P(None, 'data'), …`."""
    axes = ", ".join(f"{name}={size}" for name, size in traced.mesh.shape.items())
    arguments = dict.fromkeys(f"{a.dtype}{list(a.shape)}@{a.sharding.spec}" for a in traced.leaves)
    digest = hashlib.sha256("; ".join(arguments).encode()).hexdigest()[:12]
    return f"{traced.name} on {traced.on}, {axes}: {digest}"


def digest(traced: Traced) -> str:
    """Of the program itself, without what differs from run to run."""
    text = re.sub(r" at 0x[0-9a-f]+", "", traced.jaxpr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find(traced: Traced, folder: Path | None) -> dict[str, Any]:
    """`{"facts": …, "versions": …}`. Missing where nothing is recorded, Stale where it is of another program."""
    kept = load(folder) if folder else {}
    entry = kept.get(label(traced))
    if entry is None:
        raise Missing(
            "libtpu is not installed here (`pip install libtpu flatbuffers`), and nothing is recorded for "
            f"{traced.name} on {traced.on}"
        )
    if entry["program"] != digest(traced) and entry["versions"]["jax"] == jax.__version__:
        raise Stale(
            f"what is recorded for {traced.name} on {traced.on} is of another program: where libtpu is, "
            "`make record PODS=1` renews it"
        )
    return entry


def load(folder: Path) -> dict[str, Any]:
    """What is recorded in a folder. ValueError for a file that is none of ours."""
    path = folder / FILE
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise ValueError(f"{path} is not JSON: `make record PODS=1` writes it again") from None


def keep(traced: Traced, facts: dict[str, Any], versions: dict[str, str], folder: Path) -> None:
    """Add a recording, or replace it."""
    kept = load(folder) | {label(traced): {"program": digest(traced), "versions": versions, "facts": facts}}
    lines = [f"{json.dumps(name)}: {json.dumps(kept[name], separators=(',', ':'))}" for name in sorted(kept)]
    (folder / FILE).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
