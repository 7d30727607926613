import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: the top cancels in the quotient, so one top for all queries together is as good as one for each query.
def merge_parts(values: jax.Array, tops: jax.Array, totals: jax.Array) -> jax.Array:
    top = jnp.max(tops)
    w = jnp.exp(tops - top)
    summed = (w[..., None] * values).sum(0)
    total = (w * totals).sum(0)
    return summed / total[:, None]


# what: what this answer believes: for n / g copies of each head it is enough to lay the g heads one after another n / g times (tile), the order of copies does not matter.
def ulysses_grouped(q: jax.Array, k: jax.Array, v: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = q.shape[1], q.shape[3]
    copies = n // k.shape[2]

    def local(q, k, v):
        k = jnp.tile(k, (1, 1, copies, 1))
        v = jnp.tile(v, (1, 1, copies, 1))
        q = lax.all_to_all(q, "s", 2, 1, tiled=True)
        k = lax.all_to_all(k, "s", 2, 1, tiled=True)
        v = lax.all_to_all(v, "s", 2, 1, tiled=True)
        score = jnp.einsum("bqhd,bkd->bhqk", q, k[:, :, 0]) / d**0.5
        score = jnp.where(jnp.tril(jnp.ones((T, T), bool)), score, -jnp.inf)
        p = jax.nn.softmax(score, axis=-1)
        out = jnp.einsum("bhqk,bkd->bqhd", p, v[:, :, 0])
        return lax.all_to_all(out, "s", 1, 2, tiled=True)

    spec = P(None, "s")
    return jax.shard_map(local, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec)(q, k, v)


# what: what this answer believes: a zigzag turns around, so the rows of a device's second chunk lie in falling order of position.
def rotary(x: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]
    T, d = x.shape
    c = T // (2 * n)
    half = d // 2

    def local(x):
        i = lax.axis_index("s")
        r = jnp.arange(c)
        pos = jnp.concatenate([i * c + r, (2 * n - i) * c - 1 - r])
        freq = 10000.0 ** (-2 * jnp.arange(half) / d)
        angle = pos[:, None] * freq
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        a, b = x[:, :half], x[:, half:]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)

    return jax.shard_map(local, mesh=mesh, in_specs=P("s"), out_specs=P("s"))(x)


# what: what this answer believes: Ulysses exchanges q, k and v only; the result is already where it is needed.
def cheapest_way(heads: int, groups: int, block: int, n: int) -> tuple[str, int]:
    ring = 2 * block * (n - 1)
    if groups % n:
        return "ring", ring
    ulysses = (2 + heads // groups) * (block // n) * (n - 1)
    return ("ring", ring) if ring <= ulysses else ("ulysses", ulysses)
