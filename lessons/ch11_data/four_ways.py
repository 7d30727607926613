import jax
import numpy as np
from jax import P

from minipod import pictures
from minipod.cluster import launch_arguments

jax.distributed.initialize(**launch_arguments())

mesh = jax.make_mesh((jax.device_count(),), ("i",))
cut = jax.NamedSharding(mesh, P("i"))
table = np.arange(32, dtype=np.float32).reshape(16, 2)
mine = np.split(table, jax.process_count())[jax.process_index()]
asked = []


def read(index):  # index: a slice for each dimension
    asked.append(f"{index[0].start}:{index[0].stop}")
    return table[index]


pieces = [
    jax.device_put(rows, device)
    for rows, device in zip(np.split(mine, 4), mesh.local_devices, strict=True)
]
make = jax.make_array_from_single_device_arrays
ways = {
    "my part": jax.make_array_from_process_local_data(cut, mine),
    "on demand": jax.make_array_from_callback(table.shape, cut, read),
    "by device": make(table.shape, cut, pieces),
    "the whole": jax.device_put(table, cut),
}
for name, x in ways.items():
    held = np.concatenate([shard.data for shard in x.addressable_shards])
    print(f"{name:9} {x.shape}, here my rows:", bool((held == mine).all()))
print("asked for rows", *asked)
if jax.process_index() == 0:
    pictures.sharding(ways["my part"]).save("rows.svg")
