"""Programs for `minipod plan`, compiled by JAX's own ahead-of-time way: a line of JSON for each.

    python tests/support/compiled_by_jax.py SLICE AXIS=SIZE,… FILE.py:NAME …

The devices are the topology's own.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


def compiled(on: str, mesh: str, program: str) -> dict[str, Any]:
    """What the compiler says of one program."""
    import jax
    from jax.experimental import topologies

    file, _, name = program.rpartition(":")
    path = Path(__file__).parent / file
    sys.path.insert(0, str(path.parent))
    axes = {key: int(size) for key, _, size in (part.partition("=") for part in mesh.split(","))}
    devices = topologies.make_mesh(topologies.get_topology_desc(on, platform="tpu"), (*axes.values(),), (*axes,))
    function, arguments = getattr(importlib.import_module(path.stem), name)(devices)
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    done = jitted.lower(*arguments).compile()
    done = getattr(done, "compiled", done)  # Equinox wraps it
    stats, costs = done.memory_analysis(), done.cost_analysis() or {}
    sizes = {kind: getattr(stats, f"{kind}_size_in_bytes") for kind in ("argument", "alias", "temp")}
    return {"memory": sizes, "flops": costs.get("flops"), "moved": costs.get("bytes accessed")}


if __name__ == "__main__":
    for each in sys.argv[3:]:
        print(json.dumps(compiled(*sys.argv[1:3], each)), flush=True)
    os._exit(0)  # libtpu's own way out takes a while
