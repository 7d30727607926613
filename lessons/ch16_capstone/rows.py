"""Which rows come next, and this process's part of them."""

from dataclasses import dataclass

import jax
import numpy as np
from jax import NamedSharding, P

BATCH = 256


@dataclass
class Rows:
    """Every row once an epoch, in an order that the epoch alone decides.

    epoch, next: where we stand. They go into the checkpoint, and do not say
    how many processes there are.
    """

    path: str  # of f32[rows, inputs + 1]; the last column is to be guessed
    epoch: int = 0
    next: int = 0

    def take(self, mesh):
        """The next batch, (x, y); each process reads what its devices hold."""
        table = np.load(self.path, mmap_mode="r")  # nothing is read yet
        if self.next + BATCH > len(table):
            self.epoch, self.next = self.epoch + 1, 0
        order = np.random.default_rng([16, self.epoch]).permutation(len(table))
        chosen = order[self.next : self.next + BATCH]
        self.next += BATCH
        cut = NamedSharding(mesh, P("data"))

        def mine(columns, shape):
            return jax.make_array_from_callback(
                shape, cut, lambda index: table[chosen[index[0]], columns]
            )

        inputs = table.shape[1] - 1
        x = mine(slice(inputs), (BATCH, inputs))
        return x, mine(inputs, (BATCH,))
