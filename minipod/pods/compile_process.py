"""Compile in a separate process, which loads libtpu and answers each request with one line of JSON.

`python -m minipod.pods.compile_process PARENT` reads one request per line from standard input. To standard output it
writes a line for each finished step, `{"step": …, "seconds": …}`, and for anything the program prints,
`{"printed": …}`; then the answer. A request names the program of a file, which is compiled ahead of time as in JAX
(`direct`), or contains a program in the format of `jax.export`.
"""

import base64
import io
import os
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minipod.processes import die_with_parent, json_lines

MEMORY = ("argument", "output", "alias", "temp", "generated_code")
HOST = ("host_argument", "host_output", "host_alias", "host_temp")
PRINTED = 1 << 16  # characters that a program may print
Answer = dict[str, Any]


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    requests, answers = json_lines.taken(0), json_lines.taken(1)  # so libtpu's own output goes nowhere
    sys.stdout = _Forwarded(answers)
    import jax  # noqa: F401  so that it is imported while the parent still traces

    def step(what: str, seconds: float) -> None:
        json_lines.write(answers, {"step": what, "seconds": seconds})

    for request in json_lines.Reader(requests):
        json_lines.write(answers, of_file(step, **request) if "file" in request else of_export(**request))
    os._exit(0)  # libtpu takes a while to shut down


class _Forwarded(io.TextIOBase):
    """Standard output of the user's program: its first `PRINTED` characters go to the parent."""

    def __init__(self, answers: int):
        self.answers, self.left = answers, PRINTED

    def write(self, text: str) -> int:
        if text and self.left >= 0:
            cut = "" if len(text) <= self.left else "\n(the rest of the program's output is left out)\n"
            json_lines.write(self.answers, {"printed": text[: self.left] + cut})
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
    """Compile the program of a file. program: further arguments of `direct.compiled`.

    text: file for the program's text. save: file for the compiled program, or None. Returns what `of_export` does, or
    `{"mistake": sentence}` for a mistake of the user's. Even if the program does not fit, the result has `axes`,
    `types` and `devices` (their numbers) of its mesh and the `files` that it depends on.
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
    answer = described(ready)
    if (hlo := answer.pop("text")) is not None:
        Path(text).write_text(hlo, "utf-8")
    if save and (why := saved(ready, Path(save))):
        return {"mistake": why}
    return answer | placed(mesh) | {"files": files}


def placed(mesh: Any) -> Answer:
    """Turn a mesh into data: `axes` (name → size), `types` of the axes and numbers of the `devices`."""
    return {
        "axes": dict(mesh.shape),
        "types": [kind.name for kind in mesh.axis_types],
        "devices": [device.id for device in mesh.devices.flat],
    }


def of_export(
    program: str,
    platform: str,
    topology: str,
    options: dict[str, str],
    devices: list[int],
    axes: dict[str, int],
    types: list[str],
    donated: list[int],
    layouts: list[list[Any]],
) -> Answer:
    """Compile an exported program (base64) for the topology's devices with these numbers, in a mesh of `axes`.

    layouts: as `compiler.Traced` has them.

    Returns `{"memory": {…}, "specs": […], "text": …, "silent": …}` with bytes for each device and the spec of each
    result; `{"full": message}` if the program does not fit; `{"error": message}` if the compiler refuses it for another
    reason. If the compiler cannot print the program, `"text"` is null and `"silent"` says why.
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

        run.__name__ = exported.fun_name  # for the compiler's messages
        given: dict[str, Any] = {}
        if layouts:
            given["in_shardings"] = tuple(formats(shardings, layouts[0]))
            given["out_shardings"] = formats(exported.out_shardings_jax(mesh), layouts[1])
        ready = jax.jit(run, donate_argnums=donated, **given).lower(*arguments).compile()
    except jax.errors.JaxRuntimeError as error:
        return refused(error)
    specs = [getattr(sharding, "spec", P()) for sharding in jax.tree.leaves(ready.output_shardings)]
    ranks = [aval.ndim for aval in exported.out_avals]
    padded = [str(P(*s, *[None] * (n - len(s)))) for s, n in zip(specs, ranks, strict=True)]
    return described(ready) | {"specs": padded}


def formats(shardings: Sequence[Any], layouts: Sequence[Any]) -> list[Any]:
    """Return for each array what `jax.jit` takes as its sharding: a Format if it has a layout, else None."""
    from jax.experimental.layout import Format, Layout

    def one(sharding: Any, layout: Any) -> Any:
        if layout is None:
            return None
        if layout == "auto":
            return Format(Layout.AUTO, sharding)
        major_to_minor, tiling = layout
        return Format(Layout(tuple(major_to_minor), tiling and tuple(map(tuple, tiling))), sharding)

    return [one(*pair) for pair in zip(shardings, layouts, strict=True)]


def saved(ready: Any, path: Path) -> str | None:
    """Save a program for `serialize_executable.deserialize_and_load(*pickle.load(file))`; return why if that fails."""
    from jax.experimental import serialize_executable

    try:
        path.write_bytes(pickle.dumps(serialize_executable.serialize(ready)))
    except (TypeError, ValueError, pickle.PicklingError, OSError) as error:
        return f"the compiled program cannot be saved in {path}: {getattr(error, 'strerror', None) or error}"
    return None


def topology_devices(platform: str, topology: str, options: dict[str, str]) -> list[Any]:
    from jax.experimental import topologies

    return list(topologies.get_topology_desc(platform=platform, topology_name=topology, **options).devices)


def refused(error: Exception) -> Answer:
    """Return {"full": message} if the device's memory is too small, {"error": message} for VMEM and other errors."""
    message = str(error)
    full = "RESOURCE_EXHAUSTED" in message and "vmem" not in message.lower()
    return {"full" if full else "error": message}


def described(ready: Any) -> Answer:
    """Return what a compiled program reports: `memory` (bytes per device) and `text`, or `silent` (why it has none)."""
    stats = ready.memory_analysis()
    memory = {name: getattr(stats, f"{name}_size_in_bytes", None) for name in (*MEMORY, *HOST)}
    memory["peak"] = getattr(stats, "peak_memory_in_bytes", None)
    try:
        return {"memory": memory, "text": ready.as_text(), "silent": None}
    except Exception as error:  # for TPU7x the compiler cannot print most programs
        return {"memory": memory, "text": None, "silent": str(error)}


if __name__ == "__main__":
    main()
