"""ch23_from_pytorch solved a third way, where more than a value is judged."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def clipped(grads, specs, most, mesh):
    def mine(grads):
        own = {n: jnp.vdot(g, g) for n, g in grads.items()}
        own = {
            n: lax.psum(v, "data") if tuple(specs[n]) else v
            for n, v in own.items()
        }
        norm = sum(own.values()) ** 0.5
        return {
            n: lax.cond(norm > most, lambda g: g / norm * most, lambda g: g, g)
            for n, g in grads.items()
        }

    return jax.shard_map(
        mine,
        mesh=mesh,
        in_specs=({n: P(*s) for n, s in specs.items()},),
        out_specs=specs,
    )(grads)
