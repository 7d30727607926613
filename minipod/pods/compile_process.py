"""The process that compiles: it has libtpu, and says what came of it in one line of JSON.

`python -m minipod.pods.compile_process PARENT`: a request a line on standard input, on standard output lines that say
what was done, `{"step": …, "seconds": …}`, or printed, `{"said": …}`, and then the answer. A request names a program of
a file, which is compiled as JAX itself does (`direct`), or holds one as `jax.export` writes it.
"""

import base64
import io
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from minipod.processes import die_with_parent, json_lines

MEMORY = ("argument", "output", "alias", "temp", "generated_code")
HOST = ("host_argument", "host_output", "host_alias", "host_temp")
PRINTED = 1 << 16  # characters of what a program prints
Answer = dict[str, Any]


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    requests, answers = json_lines.taken(0), json_lines.taken(1)  # what libtpu prints goes nowhere
    sys.stdout = _Told(answers)
    import jax  # noqa: F401  while the parent still traces

    def step(what: str, seconds: float) -> None:
        json_lines.write(answers, {"step": what, "seconds": seconds})

    for request in json_lines.Reader(requests):
        json_lines.write(answers, of_file(step, **request) if "file" in request else of_export(**request))
    os._exit(0)  # libtpu's own way out takes a while


class _Told(io.TextIOBase):
    """Standard output of the reader's program: it goes to who asked, the first `PRINTED` characters of it."""

    def __init__(self, answers: int):
        self.answers, self.left = answers, PRINTED

    def write(self, text: str) -> int:
        if self.left > 0:
            cut = "" if len(text) <= self.left else "\n(it prints more than this, which is left out)\n"
            json_lines.write(self.answers, {"said": text[: self.left] + cut})
            self.left -= len(text)
        return len(text)


def of_file(
    step: Any,
    platform: str,
    topology: str,
    options: dict[str, str],
    xla: dict[str, str],
    text: str,
    save: str | None,
    **program: Any,
) -> Answer:
    """Compile a program of a file; `program` as `direct.compiled` wants it.

    text: the file that takes the program's text. save: the file that takes the compiled program, or None. As
    `of_export`, and `{"mistake": sentence}` for what the reader can mend; `axes`, `types` and `devices` (numbers) are
    those of the program's mesh, also where it does not fit; `files` what it was made of.
    """
    import jax

    from minipod.pods import direct
    from minipod.pods.plan_cache import reading
    from minipod.pods.program_file import Mistake

    files: list[str] = []
    try:
        devices = topology_devices(platform, topology, options)
        with reading(files):
            ready, mesh = direct.compiled(**program, devices=devices, options=xla, step=step)
    except Mistake as mistake:
        return {"mistake": str(mistake)}
    except jax.errors.JaxRuntimeError as error:
        of_mesh = placed(error.mesh) if hasattr(error, "mesh") else {}
        return refused(error) | getattr(error, "largest", {}) | of_mesh | {"files": files}
    found = described(ready)
    if (said := found.pop("text")) is not None:
        Path(text).write_text(said, "utf-8")
    if save and (why := saved(ready, Path(save))):
        return {"mistake": why}
    return found | placed(mesh) | {"files": files}


def placed(mesh: Any) -> Answer:
    """Of a program's mesh: `axes`, `types`, and the numbers of its `devices`."""
    of = {"axes": dict(mesh.shape), "types": [kind.name for kind in mesh.axis_types]}
    return of | {"devices": [device.id for device in mesh.devices.flat]}


def of_export(
    program: str,
    platform: str,
    topology: str,
    options: dict[str, str],
    devices: list[int],
    axes: dict[str, int],
    types: list[str],
    donated: list[int],
) -> Answer:
    """Compile an exported program (base64) for the devices of a topology with these numbers, in a mesh of these axes.

    `{"memory": {…}, "layouts": […], "text": …}`, bytes for each device, and a spec for each result; `{"full": message}`
    where it does not fit; `{"error": message}` where the compiler refuses it for another reason. Without a text,
    `"text"` is null and `"silent"` says why.
    """
    import jax
    import numpy as np
    from jax import P, export
    from jax.sharding import AxisType, Mesh

    exported = export.deserialize(bytearray(base64.b64decode(program)))
    try:
        by_number = {device.id: device for device in topology_devices(platform, topology, options)}
        grid = np.array([by_number[i] for i in devices]).reshape([*axes.values()])
        mesh = Mesh(grid, tuple(axes), axis_types=tuple(AxisType[name] for name in types))
        shardings = exported.in_shardings_jax(mesh)
        arguments = [
            jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s)
            for a, s in zip(exported.in_avals, shardings, strict=True)
        ]

        def run(*leaves: Any) -> Any:
            return exported.call(*leaves)

        run.__name__ = exported.fun_name  # the compiler's messages name it
        ready = jax.jit(run, donate_argnums=donated).lower(*arguments).compile()
    except jax.errors.JaxRuntimeError as error:
        return refused(error)
    found = described(ready)
    for aval, sharding in zip(exported.out_avals, jax.tree.leaves(ready.output_shardings), strict=True):
        spec = tuple(getattr(sharding, "spec", ()))
        found.setdefault("layouts", []).append(str(P(*spec, *[None] * (aval.ndim - len(spec)))))
    return found


def saved(ready: Any, path: Path) -> str | None:
    """Write it, for `serialize_executable.deserialize_and_load(*pickle.load(file))`; why that cannot be, or None."""
    from jax.experimental import serialize_executable

    try:
        path.write_bytes(pickle.dumps(serialize_executable.serialize(ready)))
    except (TypeError, ValueError, pickle.PicklingError, OSError) as error:
        return f"the compiled program cannot be saved in {path}: {error}"
    return None


def topology_devices(platform: str, topology: str, options: dict[str, str]) -> list[Any]:
    from jax.experimental import topologies

    return list(topologies.get_topology_desc(platform=platform, topology_name=topology, **options).devices)


def refused(error: Exception) -> Answer:
    """ "full" where the device's memory does not hold it, else "error": a kernel's fast memory is another matter."""
    said = str(error)
    full = "RESOURCE_EXHAUSTED" in said and "vmem" not in said.lower()
    return {"full" if full else "error": said}


def described(ready: Any) -> Answer:
    """What a compiled program says of itself: `memory`, bytes for each device, `text` and `silent`."""
    stats = ready.memory_analysis()
    memory = {name: getattr(stats, f"{name}_size_in_bytes", None) for name in (*MEMORY, *HOST)}
    memory["peak"] = getattr(stats, "peak_memory_in_bytes", None)
    try:
        return {"memory": memory, "text": ready.as_text(), "silent": None}
    except Exception as error:  # for TPU7x the compiler has no text of most programs
        return {"memory": memory, "text": None, "silent": str(error)}


if __name__ == "__main__":
    main()
