"""ch19_sequences solved another way: part after part, unrolled, by einsum, with complex numbers, by cases."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax


def merge_parts(values, tops, totals):
    """Softmax of the logarithms of the parts' whole weights."""
    saw = totals > 0
    each = values / jnp.where(saw, totals, 1)[..., None]
    share = jnp.where(saw, tops + jnp.log(jnp.where(saw, totals, 1)), -jnp.inf)
    return jnp.einsum("ni,nid->id", jax.nn.softmax(share, axis=0), each)


def window_attention(q, k, v, window, mesh):
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
    return jax.jit(
        jax.shard_map(on_each, mesh=mesh, in_specs=spec, out_specs=spec)
    )(q, k, v)


def ulysses_grouped(q, k, v, mesh):
    """Every device asks for its one head by hand; untiled all-to-alls."""
    n = mesh.size

    def on_each(q, k, v):
        b, t, h, d = q.shape
        head = np.arange(n) * k.shape[2] // n  # that device j needs
        q = q.reshape(b, t, n, h // n, d)
        q = lax.all_to_all(q, "s", 2, 1).reshape(b, n * t, h // n, d)
        k, v = (
            lax.all_to_all(x[:, :, head], "s", 2, 1).reshape(b, n * t, d)
            for x in (k, v)
        )
        s = jnp.einsum("bihd,bjd->bhij", q, k) / d**0.5
        s = jnp.where(jnp.tri(n * t, dtype=bool), s, -jnp.inf)
        out = jnp.einsum("bhij,bjd->bihd", jax.nn.softmax(s), v)
        out = out.reshape(b, n, t, h // n, d)
        out = lax.all_to_all(out, "s", 1, 2)
        return out.reshape(b, t, h, d)

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=P(None, "s"), out_specs=P(None, "s")
    )(q, k, v)


def rotary(x, mesh):
    """All positions as a constant that is cut like x; complex numbers."""
    n, pairs = mesh.size, x.shape[1] // 2
    chunks = np.arange(len(x)).reshape(2 * n, -1)
    at = np.stack([chunks[:n], chunks[::-1][:n]], axis=1).reshape(-1)
    at = jax.lax.with_sharding_constraint(
        jnp.asarray(at), jax.NamedSharding(mesh, P("s"))
    )

    def on_each(x, at):
        angle = at[:, None] * jnp.exp(-jnp.log(1e4) * jnp.arange(pairs) / pairs)
        z = lax.complex(x[:, :pairs], x[:, pairs:]) * jnp.exp(1j * angle)
        return jnp.concatenate([z.real, z.imag], axis=1)

    return jax.shard_map(
        on_each, mesh=mesh, in_specs=(P("s"), P("s")), out_specs=P("s")
    )(x, at)


def cheapest_way(heads, groups, block, n):
    ratio = heads // groups
    kept = block - block // n  # of a block what an all-to-all sends
    if groups % n == 0 and n > 1 + ratio:
        return "ulysses", 2 * kept * (1 + ratio)
    return "ring", 2 * block * (n - 1)
