import functools
import math

import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: believes that a part's weight is exp(top) alone, once its own result is normalised; that the number of keys behind it (totals) is then done with.
def merge_parts(
    values: jax.Array, tops: jax.Array, totals: jax.Array
) -> jax.Array:
    empty = totals == 0
    own = values / jnp.where(empty, 1.0, totals)[..., None]
    share = jax.nn.softmax(tops, axis=0)
    share = jnp.where(empty, 0.0, share)
    return jnp.einsum("ni,nid->id", share, own)


# what: believes that the zeros which ppermute gives to a device without a sender take no part in a softmax.
def window_attention(
    q: jax.Array, k: jax.Array, v: jax.Array, window: int, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    down = [(i, i + 1) for i in range(n - 1)]  # the first device gets zeros
    spec = P(None, "s")

    def local(q, k, v):
        size, width = q.shape[1], q.shape[3]
        back = min(-(-(window - 1) // size), n - 1)
        rows = jnp.arange(size)
        top = total = out = None
        for j in range(back + 1):
            if j > 0:
                k = lax.ppermute(k, "s", down)
                v = lax.ppermute(v, "s", down)
            away = rows[:, None] - rows[None, :] + j * size
            sees = (away >= 0) & (away < window)
            score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width)
            score = jnp.where(sees, score, -jnp.inf)
            here = score.max(-1)
            new = here if j == 0 else jnp.maximum(top, here)
            e = jnp.exp(score - new[..., None])
            add = jnp.einsum("bhqk,bkhd->bhqd", e, v)
            if j == 0:
                total, out = e.sum(-1), add
            else:
                old = jnp.exp(top - new)
                total = total * old + e.sum(-1)
                out = out * old[..., None] + add
            top = new
        return jnp.swapaxes(out / total[..., None], 1, 2)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec
    )(q, k, v)


# what: believes that it is all the same how query heads are dealt out, and deals them out in turn (device i: i, i + n, ...), while the key heads go out in blocks.
def ulysses_grouped(
    q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh
) -> jax.Array:
    n = mesh.shape["s"]
    spec = P(None, "s")

    def local(q, k, v):
        b, t, h, d = q.shape
        g = k.shape[2]
        swap = functools.partial(lax.all_to_all, axis_name="s", tiled=True)
        # deal the heads round the devices
        q = q.reshape(b, t, h // n, n, d).swapaxes(2, 3).reshape(b, t, h, d)
        q = swap(q, split_axis=2, concat_axis=1)
        k, v = (
            swap(jnp.repeat(a, n // g, axis=2), split_axis=2, concat_axis=1)
            for a in (k, v)
        )
        k, v = k[:, :, 0], v[:, :, 0]
        score = jnp.einsum("bqhd,bkd->bhqk", q, k) / d**0.5
        causal = jnp.tril(jnp.ones(score.shape[-2:], bool))
        weight = jax.nn.softmax(jnp.where(causal, score, -jnp.inf), axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", weight, v)
        out = swap(out, split_axis=1, concat_axis=2)
        return out.reshape(b, t, n, h // n, d).swapaxes(2, 3).reshape(b, t, h, d)

    return jax.shard_map(
        local, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec
    )(q, k, v)


# what: believes that zigzag turns the direction: that in the second chunk of a device the positions run backwards.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]

    def local(rows):
        me = lax.axis_index("s")
        chunk, d = rows.shape[0] // 2, rows.shape[1]
        up = jnp.arange(chunk)
        late = 2 * n - 1 - me
        p = jnp.concatenate([me * chunk + up, (late + 1) * chunk - 1 - up])
        m = jnp.arange(d // 2)
        angle = p[:, None] * 10000.0 ** (-2.0 * m / d)[None, :]
        c, s = jnp.cos(angle), jnp.sin(angle)
        a, b = jnp.split(rows, 2, axis=1)
        return jnp.concatenate([a * c - b * s, a * s + b * c], axis=1)

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)


# what: believes that, attention being causal, a ring only has to send the half of the blocks that somebody sees.
def cheapest_way(
    heads: int, groups: int, block: int, n: int
) -> tuple[str, int]:
    ring = 2 * block * (n - 1) // 2
    if groups % n != 0:
        return "ring", ring
    queries = block * (heads // groups)
    ulysses = (n - 1) * (2 * queries + 2 * block) // n
    return ("ulysses", ulysses) if ulysses < ring else ("ring", ring)
