import sys
import zlib

import jax
import numpy as np
from checkpoints import open_folder, restore, save
from dataset import load_mine
from jax import P
from loader import Loader, ahead

from minipod.cluster import launch_arguments

folder, last, saved = sys.argv[1], int(sys.argv[2]), sys.argv[3]
jax.distributed.initialize(**launch_arguments())
me, devices = jax.process_index(), jax.local_device_count()
cut = jax.NamedSharding(jax.make_mesh((jax.device_count(),), ("i",)), P("i"))


def everyones(rows):  # rows of each process, as one array on all devices
    return jax.make_array_from_process_local_data(cut, rows)


def kept(state):  # i32[devices, 2]: a row of the process's own on each
    return {"loader": everyones(np.tile(np.int32(state), (devices, 1)))}


manager = open_folder(folder)
begin, state = restore(manager, kept((0, 0)))
mine = state["loader"].addressable_shards[0].data[0]
loader = Loader(load_mine("data"), 4, me, tuple(map(int, mine)))
batches = ahead(loader, everyones)
for step in range(begin + 1, last + 1):
    batch, used = next(batches)
    rows = np.concatenate([s.data for s in batch.addressable_shards])
    print("step", step, "epoch", used[0], f"batch {zlib.crc32(rows):08x}")
if last == 4:  # then it is stopped
    save(manager, last, kept(used if saved == "used" else loader.state))
