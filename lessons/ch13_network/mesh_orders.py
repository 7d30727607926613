import jax
import numpy as np
from jax.experimental import mesh_utils

from minipod.cluster import launch_arguments
from minipod.expect import expect_error

jax.distributed.initialize(**launch_arguments())


def whose(devices):
    return np.vectorize(lambda d: d.process_index)(devices)


asked = jax.make_mesh((4, 2), ("device", "host"))
print("make_mesh:  ", *whose(asked.devices))

inside, across = (4, 1), (1, 2)
with expect_error(ValueError, "slices"):
    mesh_utils.create_hybrid_device_mesh(inside, across)

grid = mesh_utils.create_hybrid_device_mesh(
    inside, across, process_is_granule=True
)
print("hybrid mesh:", *whose(grid))
