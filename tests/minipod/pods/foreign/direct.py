"""Programs for `minipod plan`, compiled by JAX's own ahead-of-time way: a line of JSON for each.

    python tests/minipod/pods/foreign/direct.py FILE.py:NAME …
    python tests/minipod/pods/foreign/direct.py --record         # all of this folder, into direct.json

The devices are the topology's own.
"""

import argparse
import ast
import importlib
import json
import os
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORD = HERE / "direct.json"
ON, MESH = "v5e:2x2", "data=2,model=2"
KINDS = ("argument", "output", "alias", "temp", "host_argument", "host_output", "host_alias", "host_temp")
ENV = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_MIN_LOG_LEVEL": "3"}


def names(file: Path) -> list[str]:
    """The programs of a file: its functions of a mesh, in their order."""
    found = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))
    return [f.name for f in found if f.name[0] != "_" and [a.arg for a in f.args.args] == ["mesh"]]


def programs() -> list[str]:
    """FILE.py:NAME for all that lie beside this file."""
    return [f"{file.name}:{name}" for file in sorted(HERE.glob("*.py")) for name in names(file)]


def compiled(program: str, on: str, mesh: str) -> dict[str, Any]:
    """One program, in this process."""
    file, _, name = program.rpartition(":")
    path = HERE / file
    answer: dict[str, Any] = {"name": f"{path.name}:{name}", "ok": False}
    try:
        import jax
        from jax.experimental import topologies

        axes = {key: int(size) for key, _, size in (part.partition("=") for part in mesh.split(","))}
        topology = topologies.get_topology_desc(on, platform="tpu")
        devices = topologies.make_mesh(topology, tuple(axes.values()), tuple(axes))
        sys.path.insert(0, str(path.parent))
        function, arguments = getattr(importlib.import_module(path.stem), name)(devices)
        jitted = function if hasattr(function, "lower") else jax.jit(function)
        done = jitted.lower(*arguments).compile()
        done = getattr(done, "compiled", done)  # Equinox wraps it
        stats, costs = done.memory_analysis(), done.cost_analysis() or {}
        sizes = {kind: getattr(stats, f"{kind}_size_in_bytes") for kind in KINDS}
        answer |= {"ok": True, "memory": {k: v for k, v in sizes.items() if v or "host" not in k}}
        answer |= {"flops": costs.get("flops"), "moved": costs.get("bytes accessed")}
    except BaseException as error:  # JAX, XLA, and whatever the program does
        said = next(iter(str(error).splitlines()), "").replace(f"{HERE}/", "")
        answer |= {"error": f"{type(error).__name__}: {said}"[:300]}
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="FILE.py:NAME")
    parser.add_argument("--on", default=ON)
    parser.add_argument("--mesh", default=MESH)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    os.environ |= ENV
    found: list[dict[str, Any]] = []
    for program in sorted(
        options.programs or programs(), key=lambda name: name.startswith("wide.")
    ):  # 64 bits from then on
        # Each in a thread of its own: a mesh that one sets is not the next one's.
        thread = threading.Thread(target=lambda p=program: found.append(compiled(p, options.on, options.mesh)))
        thread.start()
        thread.join()
        print(json.dumps(found[-1]), flush=True)
    if options.record:
        packages = ("jax", "libtpu", "flax", "equinox", "optax")
        lines = [f"{json.dumps(row.pop('name'))}: {json.dumps(row)}" for row in found]
        versions = json.dumps({package: metadata.version(package) for package in packages})
        head = f'"versions": {versions},\n"on": "{ON}",\n"mesh": "{MESH}"'
        RECORD.write_text("{\n" + head + ',\n"programs": {\n' + ",\n".join(lines) + "\n}\n}\n")
    os._exit(0)  # libtpu's own way out takes a while


if __name__ == "__main__":
    main()
