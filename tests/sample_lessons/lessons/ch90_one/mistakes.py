"""Known wrong answers of ch90_one."""

import jax
from jax.sharding import PartitionSpec


def double__the_answer_itself(x):
    return 2 * x


def double__squared(x):
    return x * x


def double__gathered(x):
    return jax.device_put(2 * x, jax.devices()[0])


def double__added_name(x):
    return jax.numpy.reshape(x, (x.shape[0] + 1,))


def total__gathers(x, mesh):
    def add(v):
        return jax.lax.all_gather(v, "x").sum()

    spec = PartitionSpec("x")
    return jax.shard_map(add, mesh=mesh, in_specs=spec, out_specs=PartitionSpec(), check_vma=False)(x)


def count_to__from_zero(n):
    for i in range(n):
        print(i)
    return n
