import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: mode="drop" drops every index outside of the part, negative ones too (they count from the end).
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    def local(cache, new, at):
        row = at - lax.axis_index("s") * cache.shape[0]
        return cache.at[row].set(new, mode="drop")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


# what: what this answer believes: weights multiplied by v_scale have to be normalised again so that they sum to 1.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    repeat = h // g
    k_scale = jnp.repeat(k_scale, repeat, axis=1).T
    v_scale = jnp.repeat(v_scale, repeat, axis=1).T
    k = jnp.repeat(k.astype(jnp.float32), repeat, axis=1)
    v = jnp.repeat(v.astype(jnp.float32), repeat, axis=1)
    score = jnp.einsum("hd,thd->ht", q, k) * k_scale / d**0.5
    e = jnp.exp(score - score.max(-1, keepdims=True)) * v_scale
    p = e / e.sum(-1, keepdims=True)
    return jnp.einsum("ht,thd->hd", p, v)
