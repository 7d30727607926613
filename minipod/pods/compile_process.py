"""The process that compiles: it has libtpu, and says what came of it in one line of JSON.

`python -m minipod.pods.compile_process PARENT`: a request a line on standard input, an answer
a line on standard output.
"""

import base64
import os
import sys
from typing import Any

from minipod.processes import die_with_parent, json_lines

MEMORY = ("argument", "output", "alias", "temp", "generated_code")


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    requests, answers = json_lines.taken(0), json_lines.taken(1)  # what libtpu prints goes nowhere
    import jax  # noqa: F401  while the parent still traces

    for request in json_lines.Reader(requests):
        json_lines.write(answers, compiled(**request))
    os._exit(0)  # libtpu's own way out takes a while


def compiled(
    program: str,
    platform: str,
    topology: str,
    options: dict[str, str],
    devices: list[int],
    axes: dict[str, int],
    types: list[str],
    donated: list[int],
) -> Any:
    """Compile an exported program (base64) for the devices of a topology with these numbers, in a mesh of these axes.

    `{"memory": {…}, "layouts": […], "text": …}`, bytes for each device, and a spec for each result; `{"full": message}`
    where it does not fit; `{"error": message}` where the compiler refuses it for another reason. Without a text,
    `"text"` is null and `"silent"` says why.
    """
    import jax
    import numpy as np
    from jax import P, export
    from jax.experimental import topologies
    from jax.sharding import AxisType, Mesh

    exported = export.deserialize(bytearray(base64.b64decode(program)))
    try:
        there = topologies.get_topology_desc(platform=platform, topology_name=topology, **options)
        by_number = {device.id: device for device in there.devices}
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
        said = str(error)
        return {"full" if "RESOURCE_EXHAUSTED" in said else "error": said}
    stats: Any = ready.memory_analysis()
    memory = {name: getattr(stats, f"{name}_size_in_bytes") for name in MEMORY}
    memory["peak"] = getattr(stats, "peak_memory_in_bytes", None)
    found: dict[str, Any] = {"memory": memory}
    for aval, sharding in zip(exported.out_avals, jax.tree.leaves(ready.output_shardings), strict=True):
        spec = tuple(getattr(sharding, "spec", ()))
        found.setdefault("layouts", []).append(str(P(*spec, *[None] * (aval.ndim - len(spec)))))
    try:
        return {**found, "text": ready.as_text(), "silent": None}
    except Exception as error:  # for TPU7x the compiler has no text of most programs
        return {**found, "text": None, "silent": str(error)}


if __name__ == "__main__":
    main()
