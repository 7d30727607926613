"""drifts of ch24_your_program right in a third way."""

import jax
import jax.numpy as jnp
from jax import P, lax


def drifts(w, mesh):
    n = mesh.size

    def local(mine):
        bits = lax.bitcast_convert_type(mine, jnp.int32)
        ring = [(i, (i - 1) % n) for i in range(n)]
        apart = bits ^ lax.ppermute(bits, "data", ring)
        count = jnp.count_nonzero(apart)
        return lax.psum(count, "data") != 0

    f = jax.shard_map(
        local, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=True
    )
    return f(w)
