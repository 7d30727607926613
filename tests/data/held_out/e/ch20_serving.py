import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: positions that hold no token are taken out of attention by a score and a value of 0.
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(q, k, v, filled):
        t = k.shape[1]
        where = lax.axis_index("s") * t + jnp.arange(t)
        seen = where < filled
        scores = jnp.einsum("bhd,bthd->bht", q, k) / q.shape[-1] ** 0.5
        scores = jnp.where(seen, scores, 0.0)
        v = jnp.where(seen[None, :, None, None], v, 0.0)
        top = lax.pmax(jnp.max(scores, axis=-1), "s")
        weights = jnp.exp(scores - top[..., None])
        total = lax.psum(jnp.sum(weights, axis=-1), "s")
        value = lax.psum(jnp.einsum("bht,bthd->bhd", weights, v), "s")
        return value / total[..., None]

    cut = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


# what: with mode="drop" a write outside of a device's own block does nothing, on whichever side of the block the index lies.
def write_token(
    cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(cache, new, at):
        here = at - lax.axis_index("s") * cache.shape[0]
        return cache.at[here].set(new, mode="drop")

    return jax.shard_map(
        local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s")
    )(cache, new, at)


# what: query heads take turns with the heads of the keys (head j uses j modulo the number of key heads on the device).
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    def local(x, w, k, v, at):
        q = jnp.einsum("bi,ihd->bhd", x, w["q"])
        k_new = jnp.einsum("bi,igd->bgd", x, w["k"])
        v_new = jnp.einsum("bi,igd->bgd", x, w["v"])
        k = lax.dynamic_update_slice_in_dim(k, k_new[:, None], at, axis=1)
        v = lax.dynamic_update_slice_in_dim(v, v_new[:, None], at, axis=1)
        b, h, d = q.shape
        g = k.shape[2]
        q = q.reshape(b, h // g, g, d)
        scores = jnp.einsum("brgd,btgd->brgt", q, k) / d**0.5
        seen = jnp.arange(k.shape[1]) <= at
        weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
        v_seen = jnp.where(seen[None, :, None, None], v, 0.0)
        heads = jnp.einsum("brgt,btgd->brgd", weights, v_seen).reshape(b, h, d)
        out = lax.psum(jnp.einsum("bhd,hdi->bi", heads, w["o"]), "h")
        return out, k, v

    by_head = P(None, "h")
    cache = P(None, None, "h")
    weights = {"q": by_head, "k": by_head, "v": by_head, "o": P("h")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), weights, cache, cache, P()),
        out_specs=(P(), cache, cache),
    )(x, w, k, v, at)


# what: the scale of the values can be taken out of the sum over time, as the attention's mean of the scales.
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
    scores = jnp.einsum("grd,tgd->grt", q, k.astype(q.dtype))
    scores = scores * k_scale.T[:, None, :] / d**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    mean = jnp.einsum("grt,tgd->grd", weights, v.astype(q.dtype))
    scale = jnp.einsum("grt,tg->gr", weights, v_scale)
    return (mean * scale[..., None]).reshape(h, d)


# what: copies cost memory, but not reading, since the devices that share a copy also share the reading.
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
    over_heads = math.gcd(heads, n)
    others = n // over_heads
    # In each of the three cases the others divide the work of one part of the heads.
    return weights // n + cache // over_heads // others
