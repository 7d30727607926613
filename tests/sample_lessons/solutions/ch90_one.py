"""ch90_one, solved."""

import jax
from jax.sharding import Mesh, PartitionSpec


def double(x: jax.Array) -> jax.Array:
    return 2 * x


def total(x: jax.Array, mesh: Mesh) -> jax.Array:
    spec = PartitionSpec("x")
    add = jax.shard_map(lambda v: jax.lax.psum(v.sum(), "x"), mesh=mesh, in_specs=spec, out_specs=PartitionSpec())
    return add(x)


def count_to(n: int) -> int:
    for i in range(n):
        print(i + 1)
    return n
