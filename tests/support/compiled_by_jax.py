"""Programs for `minipod plan`, compiled by JAX's own ahead-of-time way: a line of JSON for each.

    python tests/support/compiled_by_jax.py FILE.py:NAME … [--on v5e:2x2] [--mesh data=2,model=2]

The devices are the topology's own.
"""

import argparse
import importlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


def compiled(program: str, on: str, mesh: str) -> dict[str, Any]:
    """One program, in this process."""
    import jax
    from jax.experimental import topologies

    file, _, name = program.rpartition(":")
    path = Path(__file__).parent / file
    sys.path.insert(0, str(path.parent))
    axes = {key: int(size) for key, _, size in (part.partition("=") for part in mesh.split(","))}
    devices = topologies.make_mesh(topologies.get_topology_desc(on, platform="tpu"), (*axes.values(),), (*axes,))
    try:
        function, arguments = getattr(importlib.import_module(path.stem), name)(devices)
        jitted = function if hasattr(function, "lower") else jax.jit(function)
        done = jitted.lower(*arguments).compile()
    except Exception as error:  # JAX, XLA, and whatever the program does
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    done = getattr(done, "compiled", done)  # Equinox wraps it
    stats, costs = done.memory_analysis(), done.cost_analysis() or {}
    sizes = {kind: getattr(stats, f"{kind}_size_in_bytes") for kind in ("argument", "alias", "temp")}
    return {"ok": True, "memory": sizes, "flops": costs.get("flops"), "moved": costs.get("bytes accessed")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="FILE.py:NAME")
    parser.add_argument("--on", default="v5e:2x2")
    parser.add_argument("--mesh", default="data=2,model=2")
    options = parser.parse_args()
    for program in options.programs:
        # Each in a thread of its own: a mesh that one sets is not the next one's.
        said: list[dict[str, Any]] = []
        arguments = program, options.on, options.mesh
        thread = threading.Thread(target=lambda asked=arguments, said=said: said.append(compiled(*asked)))
        thread.start()
        thread.join()
        print(json.dumps(said[0]), flush=True)
    os._exit(0)  # libtpu's own way out takes a while


if __name__ == "__main__":
    main()
