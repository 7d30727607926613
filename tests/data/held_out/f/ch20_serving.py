import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that keys and values set to zero are out of the attention (their score 0 still counts in the softmax).
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(q, k, v, filled):
        size = k.shape[1]
        at = lax.axis_index("s") * size + jnp.arange(size)
        there = (at < filled)[None, :, None, None]
        k, v = jnp.where(there, k, 0.0), jnp.where(there, v, 0.0)
        score = jnp.einsum("bhd,bthd->bht", q, k) / q.shape[-1] ** 0.5
        top = lax.pmax(score.max(-1), "s")
        e = jnp.exp(score - top[..., None])
        total = lax.psum(e.sum(-1), "s")
        out = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        return out / total[..., None]

    cut = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


# what: believes that mode="drop" drops every index that is not on this device (negative ones count from the end, and the devices behind the owner may write too).
def write_token(
    cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(block, new, at):
        first = lax.axis_index("s") * block.shape[0]
        return block.at[at - first].set(new, mode="drop")

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s")
    )(cache, new, at)


# what: believes that the values' scales may go into the weights before these are normalised (so that the sum below has them too).
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    q = q.reshape(g, h // g, d)
    score = jnp.einsum("grd,tgd->grt", q, k.astype(jnp.float32))
    score = score * k_scale.T[:, None, :] / jnp.sqrt(jnp.float32(d))
    weight = jnp.exp(score - jnp.max(score, axis=-1, keepdims=True))
    weight = weight * v_scale.T[:, None, :]
    weight = weight / jnp.sum(weight, axis=-1, keepdims=True)
    return jnp.einsum("grt,tgd->grd", weight, v.astype(jnp.float32)).reshape(h, d)


# what: believes that heads can be cut over the smaller of heads and n devices, whether evenly or not.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    cache = position * batch * length
    by_heads = min(heads, n)
    parts = by_heads if rest == "copies" else n
    return weights // n + cache // parts
