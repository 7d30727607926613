"""Batches of one process's rows that go on where they were stopped."""

from collections import deque

import numpy as np


class Loader:
    """Batches of `size` rows, in another order in each epoch, without end.

    `state` is all that it must remember: the order follows from seed and epoch.
    """

    def __init__(self, rows, size, seed, state=(0, 0)):
        self.rows, self.size, self.seed, self.state = rows, size, seed, state

    def __next__(self):
        epoch, at = self.state
        if at + self.size > len(self.rows):  # the rest is left out
            epoch, at = epoch + 1, 0
        order = np.random.default_rng([self.seed, epoch]).permutation(
            len(self.rows)
        )
        self.state = epoch, at + self.size
        return self.rows[order[at : at + self.size]]


def ahead(loader, put, depth=2):
    """(what `put` made of a batch, the loader's state after that batch), with
    `depth` batches read and put before they are asked for."""
    waiting = deque()
    while True:
        while len(waiting) <= depth:
            batch = put(next(loader))
            waiting.append((batch, loader.state))
        yield waiting.popleft()
