"""Right, written another way again: a row for each device, and their largest."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P


def stop_after(begun, told):
    mesh = jax.make_mesh((jax.device_count(),), ("i",))
    mine = np.tile(np.int32([[begun, told]]), (jax.local_device_count(), 1))
    cut = NamedSharding(mesh, P("i"))
    every = jax.make_array_from_process_local_data(cut, mine)
    most = jax.jit(
        lambda x: jnp.max(x, axis=0), out_shardings=NamedSharding(mesh, P())
    )(every)
    furthest, anybody = (int(n) for n in most)
    return (furthest + 1) * anybody
