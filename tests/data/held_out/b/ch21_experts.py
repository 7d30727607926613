import jax
import jax.numpy as jnp  # noqa: F401
import numpy as np
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: this answer believes that indexing once more with the order of the sort puts things back where they were (a permutation is taken for its own inverse).
def queue(who: jax.Array, gate: jax.Array, experts: int) -> jax.Array:
    t, k = who.shape
    flat = who.T.reshape(-1)
    order = jnp.lexsort((-gate.T.reshape(-1), flat))
    count = jnp.bincount(flat, length=experts)
    start = jnp.cumsum(count) - count
    place = jnp.arange(t * k, dtype=jnp.int32) - start[flat[order]]
    return place[order].astype(jnp.int32).reshape(k, t).T


# what: this answer believes that f is choices per token (divided by T), so that the f of all experts sum to k and the loss is k times too large.
def balance_loss(
    p: jax.Array, who: jax.Array, real: jax.Array, mesh: Mesh
) -> jax.Array:
    experts = p.shape[1]

    def local(p, who, real):
        one = jnp.repeat(real.astype(p.dtype), who.shape[1])
        count = jnp.zeros(experts, p.dtype).at[who.reshape(-1)].add(one)
        mass = jnp.where(real[:, None], p, 0.0).sum(0)
        count, mass, tokens = lax.psum((count, mass, real.sum()), "e")
        f, mean = count / tokens, mass / tokens
        return experts * jnp.sum(f * mean)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("e"), P("e"), P("e")), out_specs=P()
    )(p, who, real)
