"""Programs for `minipod plan`, compiled by JAX's own ahead-of-time way: a line of JSON for each.

    python tests/minipod/pods/foreign/direct.py linalg.py:qr loops.py      # these, or all of a file
    python tests/minipod/pods/foreign/direct.py --record                   # all of this folder, into direct.json

The devices are the topology's own. Each file has a process, and a fresh one after a crash.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORD = HERE / "direct.json"
ON, MESH = "v5e:2x2", "data=2,model=2"
KINDS = ("argument", "output", "alias", "temp", "host_argument", "host_output", "host_alias", "host_temp")
SECONDS = 300  # for one program
ENV = {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_MIN_LOG_LEVEL": "3"}


def names(file: Path) -> list[str]:
    """The programs of a file: its functions of a mesh, in their order."""
    found = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))
    return [f.name for f in found if f.name[0] != "_" and [a.arg for a in f.args.args] == ["mesh"]]


def programs() -> list[str]:
    """FILE.py:NAME for all that lie beside this file."""
    return [f"{file.name}:{name}" for file in sorted(HERE.glob("*.py")) for name in names(file)]


def results(wanted: list[str], on: str = ON, mesh: str = MESH, seconds: float = SECONDS) -> Iterator[dict[str, Any]]:
    """What came of each program, FILE:NAME, in its order; those of a file in one process as far as it lives."""
    while wanted:
        file = wanted[0].rpartition(":")[0]
        together = [program for program in wanted if program.rpartition(":")[0] == file]
        wanted = [program for program in wanted if program not in together]
        while together:
            command = [sys.executable, __file__, "--here", "--on", on, "--mesh", mesh, *together]
            with (
                tempfile.TemporaryFile("w+") as errors,
                subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | ENV
                ) as process,
            ):
                assert process.stdout is not None
                while together:
                    late = threading.Timer(seconds, process.kill)
                    late.start()
                    line = process.stdout.readline()
                    late.cancel()
                    if not line:
                        break
                    yield json.loads(line)
                    del together[0]
                process.kill()
                process.wait()
                errors.seek(0)
                last = [line.strip() for line in errors if line.strip()][-1:]
            if together:  # this one took the process with it
                said = f"the process ended with {process.returncode} ({seconds:g} s at most): {''.join(last)}"
                yield {"name": named(together.pop(0)), "ok": False, "error": said[:300]}


def named(program: str) -> str:
    file, _, name = program.rpartition(":")
    return f"{Path(file).name}:{name}"


def compiled(program: str, on: str, mesh: str) -> dict[str, Any]:
    """One program, in this process."""
    file, _, name = program.rpartition(":")
    answer: dict[str, Any] = {"name": named(program), "ok": False}
    started = time.monotonic()
    try:
        import jax
        from jax.experimental import topologies

        axes = {key: int(size) for key, _, size in (part.partition("=") for part in mesh.split(","))}
        topology = topologies.get_topology_desc(on, platform="tpu")
        devices = topologies.make_mesh(topology, tuple(axes.values()), tuple(axes))
        function, arguments, *more = getattr(imported(Path(file)), name)(devices)
        jitted = function if hasattr(function, "lower") else jax.jit(function)
        done = jitted.lower(*arguments, **(more[0] if more else {})).compile()
        done = getattr(done, "compiled", done)  # Equinox wraps it
        if any(device.platform != "tpu" for device in devices_of(done)):
            raise ValueError("nothing of it names the mesh: it was compiled for this machine")
        stats, costs = done.memory_analysis(), done.cost_analysis()
        sizes = {kind: getattr(stats, f"{kind}_size_in_bytes") for kind in KINDS}
        answer |= {"ok": True, "memory": {k: v for k, v in sizes.items() if v or "host" not in k}}
        answer |= {"flops": (costs or {}).get("flops")}
    except ModuleNotFoundError as error:
        answer |= {"missing": error.name, "error": str(error)}
    except BaseException as error:  # JAX, XLA, and whatever the program does
        said = next(iter(str(error).splitlines()), "").replace(f"{HERE}/", "")
        answer |= {"error": f"{type(error).__name__}: {said}"[:300]}
    return answer | {"seconds": round(time.monotonic() - started, 1)}


def devices_of(done: Any) -> set[Any]:
    """Those that it was compiled for, as far as its trees can be taken apart."""
    import jax

    try:
        places = jax.tree.leaves((done.input_shardings, done.output_shardings))
    except Exception:  # a node of somebody's that holds nothing but arrays
        return set()
    return {device for place in places for device in place.device_set}


def imported(file: Path) -> Any:
    """The module of a file, once."""
    if file.stem not in sys.modules:
        sys.path.insert(0, str(file.resolve().parent))
        spec = util.spec_from_file_location(file.stem, file)
        assert spec is not None and spec.loader is not None
        sys.modules[file.stem] = module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[file.stem]


def all_here(wanted: list[str], on: str, mesh: str) -> None:
    """One after another, each in a thread of its own: a mesh that one sets is not the next one's."""
    for program in wanted:
        got: list[dict[str, Any]] = []
        thread = threading.Thread(target=lambda program=program, got=got: got.append(compiled(program, on, mesh)))
        thread.start()
        thread.join()
        print(json.dumps(got[0]), flush=True)
    os._exit(0)  # libtpu's own way out takes a while


def record(found: list[dict[str, Any]]) -> None:
    """All of it, without the seconds, which are those of one machine on one day."""
    packages = ("jax", "libtpu", "flax", "equinox", "dm-haiku", "optax")
    rows = {row.pop("name"): {k: v for k, v in row.items() if k != "seconds"} for row in found}
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    versions = json.dumps({package: metadata.version(package) for package in packages})
    head = f'"versions": {versions},\n"on": "{ON}",\n"mesh": "{MESH}"'
    RECORD.write_text("{\n" + head + ',\n"programs": {\n' + ",\n".join(lines) + "\n}\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="FILE.py[:NAME]")
    parser.add_argument("--on", default=ON)
    parser.add_argument("--mesh", default=MESH)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--here", action="store_true", help="in this process")
    options = parser.parse_args()
    if options.here:
        return all_here(options.programs, options.on, options.mesh)
    wanted = []
    for asked in options.programs or programs():
        file, _, name = asked.partition(":")
        path = Path(file) if Path(file).is_file() else HERE / file
        wanted += [f"{path}:{name}" for name in ([name] if name else names(path))]
    found = []
    for row in results(wanted, options.on, options.mesh):
        print(json.dumps(row), flush=True)
        found.append(row)
    print(f"{sum(row['ok'] for row in found)} of {len(found)} compile", file=sys.stderr)
    if options.record:
        record(found)


if __name__ == "__main__":
    main()
