import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from minipod.traffic import Link  # noqa: F401


# what: passes whole rows around, not pieces + goes n steps round, until a device's own row is back and counts twice
def ring_all_reduce(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["x"]
    ring = [(i, (i + 1) % n) for i in range(n)]

    def part(row):
        total = travelling = row
        for _ in range(n):
            travelling = lax.ppermute(travelling, "x", ring)
            total = total + travelling
        return total

    return jax.shard_map(part, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x)


# what: knows a permute only where every row arrives somewhere, none with zeros + gives for a reduce-scatter the bytes of the piece that is kept
def which_collective(before: np.ndarray, after: np.ndarray) -> tuple[str, int]:
    n, k = before.shape
    m = after.shape[1]
    item = before.dtype.itemsize
    if m == n * k:
        return "all-gather", m * item
    if m * n == k:
        return "reduce-scatter", m * item
    if (after == after[0]).all():
        return "all-reduce", k * item
    if sorted(map(tuple, after.tolist())) == sorted(map(tuple, before.tolist())):
        return "collective-permute", k * item
    return "all-to-all", k * item
