"""Run JAX in one process of a cluster: `python -m minipod.doctor.cluster_probe SECONDS`, one JSON object per line.

The process prints what JAX's detector found (`{"cluster": …}`), waits for a line on standard input, and then joins the
cluster, printing each finished step: `{"joined": seconds}`, `{"devices": …}`, `{"hop": …}`, `{"pace": …}`. Then it
stays until it is ended: the first process to leave would abort the others.
"""

import importlib.util
import os
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from minipod.cluster import launch_arguments
from minipod.cluster.arguments import launcher
from minipod.doctor.accelerators import accelerators
from minipod.doctor.findings import as_rows
from minipod.doctor.gpus import identities
from minipod.doctor.look import detect, devices
from minipod.processes import die_with_parent, gloo, json_lines, wait_for_listener

SMALL, LARGE = 1, 1 << 20  # numbers of four bytes that a process brings to the sum
ROUNDS, LARGE_ROUNDS, PACES = 30, 7, 15
SIDE, PRODUCTS = 512, 8  # what each process multiplies for itself in a round


def main() -> None:
    """Run all steps in order, and report each."""
    die_with_parent(os.getppid())
    out = json_lines.taken(1)  # gloo prints to standard output

    def tell(**what: Any) -> None:
        json_lines.write(out, what)

    by_mpi4py = launcher() == "mpi4py" and importlib.util.find_spec("mpi4py")
    cluster = detect("mpi4py" if by_mpi4py else None)
    tell(cluster=cluster)
    if not sys.stdin.readline() or not cluster:
        return
    began = time.monotonic()
    join(cluster, int(float(sys.argv[1])))
    tell(joined=time.monotonic() - began)
    import jax

    facts = devices()
    unused = as_rows([accelerators(facts["platform"], in_cluster=True)])
    mine = jax.local_devices()
    gpus = identities(d.local_hardware_id for d in mine) if facts["platform"] == "gpu" else []
    tell(devices=facts | {"here": len(mine)}, unused=unused, gpus=gpus)
    tell(hop=hop())
    tell(pace=pace())
    sys.stdin.read()  # until our parent closes it, or ends us
    if mpi := sys.modules.get("mpi4py.MPI"):
        mpi.Finalize()  # without it Open MPI 5 says that the program failed
    os._exit(0)


def join(cluster: dict[str, Any], seconds: int) -> None:
    """Call `jax.distributed.initialize` as the programs of chapter 10 do; wait at most `seconds`."""
    import jax

    address = cluster["coordinator"]
    if "MINIPOD_COORDINATOR" in os.environ:
        if address.startswith("127."):
            gloo.listen_on("127.0.0.1")
        arguments: dict[str, Any] = launch_arguments() | {"initialization_timeout": seconds}
        jax.distributed.initialize(**arguments)
        return
    method = "mpi4py" if cluster["method"] == "mpi4py" else None
    if cluster["process"] and not method:  # by MPI process 0 listens only once all have said who they are
        wait_for_listener(address, seconds)  # JAX's own second attempt would come a whole second later
    jax.distributed.initialize(cluster_detection_method=method, initialization_timeout=seconds)


def all_reduce(numbers: int) -> Callable[[], Any]:
    """Return a function that sums `numbers` f32 from the first device of each process; it is compiled already."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    first = {d.process_index: d for d in sorted(jax.devices(), key=lambda d: -d.id)}
    mesh = Mesh(np.array([first[p] for p in sorted(first)]), ("hop",))
    spread, same = PartitionSpec("hop"), PartitionSpec()
    mine = np.ones(numbers, np.float32)
    x = jax.make_array_from_process_local_data(NamedSharding(mesh, spread), mine)
    total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "hop"), mesh=mesh, in_specs=spread, out_specs=same))

    def once() -> None:
        total(x).block_until_ready()

    once()  # compiles, and connects
    return once


def hop() -> dict[str, float]:
    """Measure the median seconds of a small all-reduce and the bytes per second that a device sends in a large one."""
    import jax

    small, large = all_reduce(SMALL), all_reduce(LARGE)
    latency = statistics.median(_seconds(small) for _ in range(ROUNDS))
    seconds = statistics.median(_seconds(large) for _ in range(LARGE_ROUNDS))
    count = jax.process_count()
    return {"latency": latency, "bandwidth": 2 * (count - 1) / count * 4 * LARGE / seconds, "large": 4 * LARGE}


def pace() -> dict[str, float]:
    """Measure in rounds how long, at the median, this process multiplies matrices and then waits for the others."""
    import jax

    together = all_reduce(SMALL)
    x = jax.device_put(jax.numpy.eye(SIDE, dtype=jax.numpy.float32), jax.local_devices()[0])
    product = jax.jit(jax.numpy.matmul)

    def alone() -> None:
        y = x
        for _ in range(PRODUCTS):  # long enough that a pause of some milliseconds is in it
            y = product(x, y)
        y.block_until_ready()

    alone()
    rounds = [(_seconds(alone), _seconds(together)) for _ in range(PACES)]
    computing, wait = zip(*rounds, strict=True)
    return {"own": statistics.median(computing), "wait": statistics.median(wait)}


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    try:
        main()
    except Exception:  # at the end of Python JAX would wait for the others
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
