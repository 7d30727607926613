"""Data and first weights for three ways to write the same step of training.

mesh: all devices along "data". x, y: f32[64,4], f32[64,1], cut along it.
weights: {"w1": f32[4,16], "b1": f32[16], "w2": f32[16,1], "b2": f32[1]}, a
copy on every device.
"""

import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh(
    (jax.device_count(),), ("data",), axis_types=(jax.sharding.AxisType.Auto,)
)
copied, cut = (jax.NamedSharding(mesh, spec) for spec in (P(), P("data")))
rng = np.random.default_rng(14)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def part(rows):
    """The global array of which this process brings its own rows."""
    mine = np.split(rows, jax.process_count())[jax.process_index()]
    return jax.make_array_from_process_local_data(cut, mine)


inputs = normal(64, 4)
x, y = part(inputs), part(np.sin(inputs.sum(1, keepdims=True)))
shapes = {"w1": (4, 16), "b1": (16,), "w2": (16, 1), "b2": (1,)}
weights = {
    name: jax.make_array_from_process_local_data(copied, normal(*shape) / 4)
    for name, shape in shapes.items()
}
