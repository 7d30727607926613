"""The data: windows of a file's bytes, in Grain. Which window comes when does not depend on the number of processes."""

from pathlib import Path

import grain
import jax
import numpy as np
from jax import NamedSharding
from jax.sharding import Mesh

from byte_lm import Unusable
from byte_lm.layouts import ROWS


class Windows:
    """A file as windows of length + 1 bytes, each beginning with the last byte of the one before.

    Grain reads by number, so any source with these two methods can stand here, or one of grain.sources.
    """

    def __init__(self, path: str, length: int):
        try:
            self.bytes, self.length = np.memmap(path, np.uint8, mode="r"), length
        except (OSError, ValueError) as error:  # not there; empty
            raise Unusable(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None

    def __len__(self) -> int:
        return (len(self.bytes) - 1) // self.length

    def __getitem__(self, i: int) -> np.ndarray:
        at = i * self.length
        return self.bytes[at : at + self.length + 1].astype(np.int32)


class Batches:
    """For ever: the next batch, int32[batch, length + 1] cut by ROWS; each process reads what its devices hold.

    position: how many batches were given. It is the same in all processes and says nothing of how many there are, so
    another number of them goes on from it with the same windows in each batch. Unusable for fewer windows than a batch.
    """

    def __init__(self, path: str, length: int, batch: int, seed: int, mesh: Mesh):
        windows = Windows(path, length)
        if len(windows) < batch:
            raise Unusable(f"{Path(path).name} has {len(windows)} windows of {length + 1} bytes, a batch {batch}")
        self._place, self._shape = NamedSharding(mesh, ROWS), (batch, length + 1)
        shard, shards = self._shard()
        order = grain.MapDataset.source(windows).seed(seed).shuffle()  # another order in each epoch
        order = order[: len(order) - len(order) % batch]  # an epoch has whole batches
        mine = order[shard::shards].batch(batch // shards).repeat()
        self._reading = iter(mine.to_iter_dataset())

    def __next__(self) -> jax.Array:
        return jax.make_array_from_process_local_data(self._place, next(self._reading), self._shape)

    @property
    def position(self) -> int:
        return self._reading.get_state()["next_index"]

    @position.setter
    def position(self, batches: int) -> None:
        self._reading.set_state({"next_index": batches})

    def _shard(self) -> tuple[int, int]:
        """Which part of each batch this process's devices hold, of how many: all of it where they hold all rows."""
        parts = self._place.addressable_devices_indices_map(self._shape).values()
        rows = {row for part in parts for row in range(*part[0].indices(self._shape[0]))}
        first, count = min(rows), len(rows)
        if max(rows) - first + 1 != count or first % count or self._shape[0] % count:
            raise ValueError("this process's devices hold rows that do not lie together: order the mesh by processes")
        return first // count, self._shape[0] // count
