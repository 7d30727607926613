import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: believes that the values of a part are already its mean, so that they are weighted by the part's rescaled total.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    top = tops.max(axis=0)
    weight = jnp.exp(tops - top) * totals
    share = weight / weight.sum(axis=0, keepdims=True)
    return jnp.einsum("ni,nid->id", share, values)


# what: believes that the zeros which a device receives where nobody sends do not count in the softmax, and masks by distance only (their score 0 gets a weight).
def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    block = T // n
    back = min(-(-(window - 1) // block), n - 1)
    onward = [(i, i + 1) for i in range(n - 1)]

    def one_device(q, k, v):
        here = jnp.arange(block)
        top = jnp.full((b, h, block), -1e30)
        total = jnp.zeros((b, h, block))
        out = jnp.zeros((b, h, block, d))
        for step in range(back + 1):
            if step:
                k = lax.ppermute(k, "s", onward)
                v = lax.ppermute(v, "s", onward)
            distance = here[:, None] - here[None, :] + step * block
            seen = (distance >= 0) & (distance < window)
            score = jnp.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(d)
            score = jnp.where(seen, score, -1e30)
            new = jnp.maximum(top, score.max(-1))
            p = jnp.where(seen, jnp.exp(score - new[..., None]), 0.0)
            old = jnp.exp(top - new)
            total = total * old + p.sum(-1)
            out = out * old[..., None] + jnp.einsum("bhij,bjhd->bhid", p, v)
            top = new
        return jnp.swapaxes(out / total[..., None], 1, 2)

    spec = P(None, "s")
    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(spec, spec, spec),
        out_specs=spec,
        check_vma=False,
    )(q, k, v)


# what: believes that the query heads may be dealt out in turn (head j to device j % n), although the key heads are written out in blocks.
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    g = k.shape[2]

    def regroup(a, inner, outer):
        # heads (inner, outer) -> (outer, inner)
        shape = a.shape
        a = a.reshape(shape[0], shape[1], inner, outer, shape[3])
        return jnp.swapaxes(a, 2, 3).reshape(shape)

    def to_heads(a):
        return lax.all_to_all(a, "s", split_axis=2, concat_axis=1, tiled=True)

    def to_positions(a):
        return lax.all_to_all(a, "s", split_axis=1, concat_axis=2, tiled=True)

    def one_device(q, k, v):
        q = to_heads(regroup(q, h // n, n))
        k = to_heads(jnp.repeat(k, n // g, axis=2))[:, :, 0]
        v = to_heads(jnp.repeat(v, n // g, axis=2))[:, :, 0]
        score = jnp.einsum("bihd,bjd->bhij", q, k) / math.sqrt(d)
        causal = jnp.tril(jnp.ones((T, T), bool))
        p = jax.nn.softmax(jnp.where(causal, score, -jnp.inf), axis=-1)
        out = to_positions(jnp.einsum("bhij,bjd->bihd", p, v))
        return regroup(out, n, h // n)

    spec = P(None, "s")
    return jax.shard_map(
        one_device,
        mesh=mesh,
        in_specs=(spec, spec, spec),
        out_specs=spec,
        check_vma=False,
    )(q, k, v)


# what: believes that zigzag runs backward in a device's second chunk, so that the rows of chunk 2n-1-i lie in reverse order.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    chunk = T // (2 * n)
    half = d // 2

    def one_device(rows):
        i = lax.axis_index("s")
        inside = jnp.arange(chunk)
        first = i * chunk + inside
        second = (2 * n - i) * chunk - 1 - inside
        p = jnp.concatenate([first, second]).astype(jnp.float32)
        rate = 10000.0 ** (-2.0 * jnp.arange(half) / d)
        angle = p[:, None] * rate
        a, b = rows[:, :half], rows[:, half:]
        c, s = jnp.cos(angle), jnp.sin(angle)
        return jnp.concatenate([a * c - b * s, a * s + b * c], axis=1)

    return jax.shard_map(
        one_device, mesh=mesh, in_specs=P("s"), out_specs=P("s")
    )(x)


# what: believes that a ring sends (n-1)/n of a device's block, as other ring collectives do, and not the whole block n-1 times.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    queries = block * heads // groups
    ring = 2 * block * (n - 1) // n
    ulysses = (2 * queries + 2 * block) * (n - 1) // n
    if groups % n == 0 and ulysses < ring:
        return "ulysses", ulysses
    return "ring", ring
