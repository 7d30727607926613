"""Other answers to the exercises of ch19_sequences: right ones, known mistakes, and other wrong ones."""

import jax
import jax.numpy as jnp
from jax import P, lax

from lessons.ch19_sequences import mistakes


def window_attention__right(q, k, v, window, mesh):
    """Unrolled, k and v sent in one array, running logarithms of sums."""
    n, length = mesh.size, q.shape[1]
    t = length // n
    turns = min((window - 2) // t + 1, n - 1)

    def on_each(q, k, v):
        i = lax.axis_index("s")
        both = jnp.stack([k, v])
        out, lse = jnp.zeros_like(q), jnp.full_like(q[..., :1], -jnp.inf)
        for r in range(turns + 1):
            first = i * t - r * t  # below 0: nobody's
            p, j = i * t + jnp.arange(t)[:, None], first + jnp.arange(t)
            seen = (j <= p) & (j > p - window) & (j >= 0)
            s = jnp.einsum("bihd,bjhd->bihj", q, both[0]) / jnp.sqrt(q.shape[3])
            s = jnp.where(seen[None, :, None], s, -jnp.inf)
            own = jax.scipy.special.logsumexp(s, axis=-1, keepdims=True)
            some = jnp.isfinite(own)
            weights = jnp.where(some, jnp.exp(s - jnp.where(some, own, 0)), 0)
            new = jnp.einsum("bihj,bjhd->bihd", weights, both[1])
            total = jnp.logaddexp(lse, own)
            out = out * jnp.exp(lse - total) + new * jnp.exp(own - total)
            lse = total
            if r < turns:
                ring = [(j, (j + 1) % n) for j in range(n)]
                both = lax.ppermute(both, "s", ring)
        return out

    spec = P(None, "s", None, None)
    return jax.jit(jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec))(q, k, v)


def window_attention__sent_back(q, k, v, window, mesh):
    n = mesh.shape["s"]
    b, T, h, d = q.shape
    size = T // n
    back = min((window - 1 + size - 1) // size, n - 1)
    pairs = [(j, (j - 1) % n) for j in range(n)]

    def local(q, k, v):
        me = lax.axis_index("s")
        at = jnp.arange(size)
        top = jnp.full((b, h, size), -jnp.inf)
        total = jnp.zeros((b, h, size))
        acc = jnp.zeros((b, h, size, d))
        for s in range(back + 1):
            if s > 0:
                k, v = lax.ppermute((k, v), "s", pairs)
            qpos = me * size + at[:, None]
            kpos = (me - s) * size + at[None, :]
            sees = (kpos >= 0) & (kpos <= qpos) & (qpos - kpos < window)
            score = jnp.einsum("bqhd,bkhd->bhqk", q, k) / d**0.5
            score = jnp.where(sees, score, -jnp.inf)
            new = jnp.maximum(top, score.max(-1))
            e = jnp.exp(score - new[..., None])
            old = jnp.exp(top - new)
            total = total * old + e.sum(-1)
            acc = acc * old[..., None] + jnp.einsum("bhqk,bkhd->bhqd", e, v)
            top = new
        return jnp.transpose(acc / total[..., None], (0, 2, 1, 3))

    spec = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)(q, k, v)


def window_attention__own_block_only(q, k, v, window, mesh):
    return mistakes._window(q, k, v, window, mesh, 0)


def ulysses_grouped__right_otherwise(q, k, v, mesh):
    """All three in one all-to-all."""
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        k, v = (jnp.repeat(x, n // x.shape[2], axis=2) for x in (k, v))
        q = q.reshape(b, t, n, h // n, d)
        packed = jnp.concatenate([q, k[:, :, :, None], v[:, :, :, None]], axis=3)
        packed = lax.all_to_all(packed, "s", 2, 1, tiled=True)[:, :, 0]
        q, k, v = jnp.split(packed, [h // n, h // n + 1], axis=2)
        out = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    return jax.shard_map(on_each, mesh=mesh, in_specs=P(None, "s"), out_specs=P(None, "s"))(q, k, v)


def ulysses_grouped__gathered(q, k, v, mesh):
    def on_each(q, k, v):
        n, t = mesh.size, q.shape[1]
        i = lax.axis_index("s")
        k, v = (lax.all_gather(x, "s", axis=1, tiled=True) for x in (k, v))
        mask = i * t + jnp.arange(t)[:, None] >= jnp.arange(n * t)
        return jax.nn.dot_product_attention(q, k, v, mask=mask[None, None])

    cut = P(None, "s")
    f = jax.shard_map(on_each, mesh=mesh, in_specs=cut, out_specs=cut)
    return f(q, k, v)


def rotary__right_otherwise(x, mesh):
    """From the row's own number in the whole array, without a shard_map."""
    n, pairs = mesh.size, x.shape[1] // 2
    half = len(x) // (2 * n)
    row = lax.iota(jnp.int32, len(x))
    device, second = row // (2 * half), row // half % 2
    chunk = jnp.where(second == 0, device, 2 * n - 1 - device)
    at = chunk * half + row % half
    angle = at[:, None] / 10000.0 ** (jnp.arange(pairs) / pairs)
    cos, sin = (jnp.tile(f(angle), 2) for f in (jnp.cos, jnp.sin))
    other = jnp.concatenate([-x[:, pairs:], x[:, :pairs]], axis=1)
    spec = jax.NamedSharding(mesh, P("s"))
    return lax.with_sharding_constraint(x * cos + other * sin, spec)
