import jax
import numpy as np
from jax import P

from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

devices = np.array(jax.devices()).reshape(jax.process_count(), -1).T
mesh = jax.sharding.Mesh(devices, ("data", "model"))  # a row: one of each host
cut = jax.NamedSharding(mesh, P("data"))
table = np.arange(8, dtype=np.float32)
total = jax.jit(jax.numpy.sum)

mine = np.split(table, jax.process_count())[jax.process_index()]
own = jax.make_array_from_process_local_data(cut, mine)
print("each its own part:", own.shape, "sum", total(own))

held = cut.addressable_devices_indices_map(table.shape)
print(
    "my devices hold", *sorted(f"{i.start}:{i.stop}" for (i,) in held.values())
)
asked = jax.make_array_from_callback(table.shape, cut, table.__getitem__)
print("on demand:", asked.shape, "sum", total(asked))
