import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: believes that the top may be taken over all positions, also those that hold no token, because it cancels (large meaningless scores make all real weights 0).
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    d = q.shape[-1]

    def one_device(q, k, v, filled):
        block = k.shape[1]
        position = lax.axis_index("s") * block + jnp.arange(block)
        score = jnp.einsum("bhd,bthd->bht", q, k) / math.sqrt(d)
        top = lax.pmax(score.max(-1), "s")
        weight = jnp.exp(score - top[..., None])
        weight = jnp.where(position < filled, weight, 0.0)
        total = lax.psum(weight.sum(-1), "s")
        out = lax.psum(jnp.einsum("bht,bthd->bhd", weight, v), "s")
        return out / total[..., None]

    cut = P(None, "s")
    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), cut, cut, P()),
        out_specs=P(),
        check_vma=False,
    )(q, k, v, filled)


# what: believes that mode="drop" also drops a negative index (it counts from the end, so that the device after the owner is written, too).
def write_token(
    cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh
) -> jax.Array:
    def one_device(mine, new, at):
        rows = mine.shape[0]
        local = at - lax.axis_index("s") * rows
        return mine.at[local].set(new, mode="drop")

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


# what: believes that query heads share key heads in turn (head j uses the key head j % g of its device) and not in groups of neighbours.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    cut = P(None, "h")
    cache = P(None, None, "h")

    def one_device(x, wq, wk, wv, wo, k, v, at):
        b, T, g, d = k.shape
        h = wq.shape[1]
        q = jnp.einsum("bD,Dhd->bhd", x, wq)
        new_k = jnp.einsum("bD,Dgd->bgd", x, wk)
        new_v = jnp.einsum("bD,Dgd->bgd", x, wv)
        k = lax.dynamic_update_slice_in_dim(k, new_k[:, None], at, 1)
        v = lax.dynamic_update_slice_in_dim(v, new_v[:, None], at, 1)
        grouped = q.reshape(b, h // g, g, d)
        score = jnp.einsum("brgd,btgd->brgt", grouped, k) / math.sqrt(d)
        score = jnp.where(jnp.arange(T) <= at, score, -jnp.inf)
        p = jax.nn.softmax(score, axis=-1)
        y = jnp.einsum("brgt,btgd->brgd", p, v).reshape(b, h, d)
        out = lax.psum(jnp.einsum("bhd,hdD->bD", y, wo), "h")
        return out, k, v

    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(P(), cut, cut, cut, P("h"), cache, cache, P()),
        out_specs=(P(), cache, cache),
        check_vma=False,
    )(x, w["q"], w["k"], w["v"], w["o"], k, v, at)


# what: believes that the scales of the values may go into the weights before these are divided by their sum (the divisor then holds the scales as well).
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    grouped = q.reshape(g, h // g, d)
    score = jnp.einsum("grd,tgd->grt", grouped, k.astype(jnp.float32))
    score = score * k_scale.T[:, None, :] / math.sqrt(d)
    weight = jnp.exp(score - score.max(-1, keepdims=True))
    weight = weight * v_scale.T[:, None, :]
    weight = weight / weight.sum(-1, keepdims=True)
    out = jnp.einsum("grt,tgd->grd", weight, v.astype(jnp.float32))
    return out.reshape(h, d)


# what: believes that cutting the cache along the sequence saves no reading, because the token looks at every position anyway.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    ways = math.gcd(heads, n)
    left_over = n // ways
    cache = position * batch * length // ways
    if rest == "batch":
        cache //= left_over
    return weights // n + cache
