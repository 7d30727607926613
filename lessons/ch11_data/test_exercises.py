"""The checks of ch11_data: each runs in two processes, the first in three.

The oracle is NumPy on everybody's rows.
"""

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

pytestmark = pytest.mark.processes(2, devices=4)


def parts(rng, columns, *counts):
    """The rows of each process, the same draw in each: f32[count, columns]."""
    return [
        rng.normal(size=(n, columns)).astype(np.float32) + 1 for n in counts
    ]


def mine(everybody):
    return everybody[jax.process_index()]


@pytest.mark.processes(3, devices=2)
def test_my_part(check):
    def cases(rng):
        k = 3 * int(rng.integers(4, 9))
        return [(k + 1,), (k + 2,), (k,), (7,), (2,), (1,), (0,)]

    def oracle(count):
        sizes = [0] * jax.process_count()
        for example in range(count):
            sizes[example % len(sizes)] += 1
        first = sum(sizes[: jax.process_index()])
        return np.arange(first, first + sizes[jax.process_index()])

    check(cases, oracle=oracle, values="index")


def test_equal_steps(check):
    longest = {}  # of everybody, by one's own rows and the size of a batch

    def cases(rng):
        a, b = (int(n) for n in rng.integers(1, 3, 2))
        drawn = [
            (parts(rng, 3, 9 + a, 3), 4),
            (parts(rng, 2, 4 + b, 15 + a), 5),
            (parts(rng, 3, 0, 3 * b), 3),  # full batches only
            (parts(rng, 2, 1, 16), 5),  # on average, less than 16 // 5
        ]
        drawn[0][0][1][2] = 0  # a row of zeros is a row
        for everybody, size in drawn:
            most = max(len(rows) for rows in everybody)
            longest[mine(everybody).tobytes(), size] = most
        return [(mine(everybody), size) for everybody, size in drawn]

    def oracle(rows, size):
        steps = 0
        while steps * size < longest[rows.tobytes(), size]:
            steps += 1
        batches = np.zeros((steps, size, rows.shape[1]), np.float32)
        mask = np.zeros((steps, size), bool)
        for i, row in enumerate(rows):
            batches[i // size, i % size] = row
            mask[i // size, i % size] = True
        return batches, mask

    check(cases, oracle=oracle)


def test_mean_loss(check):
    whole = {}  # everybody's rows, by one's own

    def cases(rng):
        a = int(rng.integers(1, 4))
        drawn = [
            (parts(rng, 4, 8, 4 + a), 8),
            (parts(rng, 4, 2 * a, 11), 12),
            (parts(rng, 4, 5, a), 16),
            (parts(rng, 4, 0, 4 + a), 8),
        ]
        drawn[1][0][1][5] = 0  # a row of zeros is a row
        for everybody, _ in drawn:
            whole[mine(everybody).tobytes()] = np.concatenate(everybody)
        w = rng.normal(size=3).astype(np.float32)
        return [(w, mine(everybody), size) for everybody, size in drawn]

    def oracle(w, rows, size):
        every = whole[rows.tobytes()].astype(np.float64)
        return float(np.mean((every[:, :3] @ w - every[:, 3]) ** 2))

    check(cases, oracle=oracle, tolerance=1e-4)


def test_restore(check):
    def cases(rng):
        line = jax.make_mesh((jax.device_count(),), ("i",))
        grid = jax.make_mesh((4, jax.device_count() // 4), ("a", "b"))
        drawn = []
        for mesh, spec, rows, columns in [
            (line, P("i"), 16, 3),
            (line, P(None, "i"), 20, 8),
            (grid, P("b", "a"), 24, 4),
        ]:
            whole = rng.normal(size=(rows, columns)).astype(np.float32)
            low, high = int(rng.integers(2, 9)), int(rng.integers(10, 15))
            pieces = {"rows-0": whole[:low], f"rows-{low}": whole[low:high]}
            blocks = {f"rows-{high}": whole[high:], **pieces}
            drawn.append((blocks, NamedSharding(mesh, spec)))
        return drawn

    def oracle(blocks, sharding):
        columns = next(iter(blocks.values())).shape[1]
        whole = np.zeros((sum(map(len, blocks.values())), columns), np.float32)
        for name, block in blocks.items():
            first = int(name.removeprefix("rows-"))
            whole[first : first + len(block)] = block
        return whole

    check(cases, oracle=oracle, compare=("value", "placement"))
