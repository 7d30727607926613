"""A step on two hosts of two devices: bytes that leave this host.

across.py WAY ORDER    WAY as in planned.py, or "data"; ORDER "0123"
"""

import sys

import jax
import numpy as np
import parts
from jax import NamedSharding, P, lax
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh
from planned import program

from minipod.cluster import launch_arguments

STEPS = 3


def sent():
    """Bytes that the network interface has sent so far (Linux)."""
    with open("/proc/net/dev") as file:
        lines = [line.split(":") for line in file if ":" in line]
    return sum(int(n.split()[8]) for name, n in lines if name.strip() != "lo")


def data_parallel(devices):
    """Only the sum of the gradients, half of them on each of two devices."""
    auto = (AxisType.Auto,) * 2
    mesh = Mesh(np.reshape(devices, (2, 2)), ("host", "half"), axis_types=auto)

    def both(g):
        return lax.psum(lax.pcast(g, "host", to="varying"), "host")

    spec = P("half")
    f = jax.shard_map(both, mesh=mesh, in_specs=spec, out_specs=spec)
    shapes = jax.eval_shape(parts.drawn, jax.random.key(0))
    size = sum(a.size for a in jax.tree.leaves(shapes))
    on = NamedSharding(mesh, spec)
    return jax.jit(f), (jax.ShapeDtypeStruct((size,), "float32", sharding=on),)


def main(way, order):
    jax.distributed.initialize(**launch_arguments())
    devices = [jax.devices()[int(i)] for i in order]
    if way == "data":
        f, args = data_parallel(devices)
    else:
        mesh = Mesh(np.array(devices), ("stage",), axis_types=(AxisType.Auto,))
        f, args = program(mesh, way, 8, 4)

    def some(a):  # what the numbers are does not matter here
        x = np.ones(a.shape, a.dtype)
        return jax.make_array_from_callback(a.shape, a.sharding, x.__getitem__)

    given, step = jax.tree.map(some, args), f.lower(*args).compile()
    jax.block_until_ready(step(*given))
    multihost_utils.sync_global_devices("begin")
    before = sent()
    for _ in range(STEPS):
        jax.block_until_ready(step(*given))
    multihost_utils.sync_global_devices("end")
    print((sent() - before) // STEPS)


if __name__ == "__main__":
    main(*sys.argv[1:])
