import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: each device finishes its part with its own top and rescales it; value and total are summed in one psum of a pair.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    cut = P(None, "s")

    def local(q, k, v, filled):
        size = k.shape[1]
        left = filled - lax.axis_index("s") * size
        seen = jnp.arange(size) < left
        q = q * q.shape[-1] ** -0.5
        score = jnp.einsum("bhd,bthd->bht", q, k)
        score = jnp.where(seen, score, -jnp.inf)
        mine = jnp.max(score, axis=-1)
        base = jnp.where(left > 0, mine, 0.0)
        e = jnp.exp(score - base[..., None])
        value = jnp.einsum("bht,bthd->bhd", e, jnp.where(seen[None, :, None, None], v, 0.0))
        scale = jnp.exp(mine - lax.pmax(mine, "s"))
        value, total = lax.psum((value * scale[..., None], e.sum(-1) * scale), "s")
        return value / total[..., None]

    return jax.shard_map(local, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P())(q, k, v, filled)


# style: one row is updated on every device; those that do not own the position write back what was there.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    def local(cache, new, at):
        size = cache.shape[0]
        row = at - lax.axis_index("s") * size
        safe = jnp.clip(row, 0, size - 1)
        old = lax.dynamic_index_in_dim(cache, safe, 0, keepdims=False)
        update = jnp.where(row == safe, new, old)
        return lax.dynamic_update_index_in_dim(cache, update, safe, 0)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


# style: repeated heads, softmax by hand, dynamic update of the cache.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    share = w["q"].shape[1] // w["k"].shape[1]
    cut, cache = P(None, "h"), P(None, None, "h")

    def local(x, wq, wk, wv, wo, k, v, at):
        new_k = jnp.tensordot(x, wk, 1)[:, None]
        new_v = jnp.tensordot(x, wv, 1)[:, None]
        k = lax.dynamic_update_slice_in_dim(k, new_k, at, axis=1)
        v = lax.dynamic_update_slice_in_dim(v, new_v, at, axis=1)
        seen = jnp.arange(k.shape[1]) <= at
        values = jnp.where(seen[:, None, None], v, 0.0)
        values = jnp.repeat(values, share, axis=2)
        keys = jnp.repeat(k, share, axis=2)
        q = jnp.tensordot(x, wq, 1)
        score = jnp.einsum("bhd,bthd->bht", q, keys) * q.shape[-1] ** -0.5
        score = jnp.where(seen, score, -jnp.inf)
        e = jnp.exp(score - score.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        att = jnp.einsum("bht,bthd->bhd", p, values)
        return lax.psum(jnp.tensordot(att, wo, 2), "h"), k, v

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut, P("h"), cache, cache, P()),
        out_specs=(P(), cache, cache),
        check_vma=False,
    )(x, w["q"], w["k"], w["v"], w["o"], k, v, at)


# style: multiply keys and values out first, then plain attention with repeated heads.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    times = q.shape[0] // k.shape[1]
    keys = jnp.repeat(k * k_scale[..., None], times, axis=1)
    values = jnp.repeat(v * v_scale[..., None], times, axis=1)
    score = jnp.sum(q * keys, axis=-1) / math.sqrt(q.shape[1])
    p = jax.nn.softmax(score, axis=0)
    return jnp.sum(p[..., None] * values, axis=0)


# style: start with the heads' share and divide it further where the rest takes part.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    over = math.gcd(heads, n)
    cache = batch * length * position // over
    if rest != "copies":
        cache //= n // over
    return weights // n + cache
