import jax
import jax.numpy as jnp  # noqa: F401
from jax import P, lax  # noqa: F401
from jax.sharding import Mesh


# what: (1) believes that sums shifted by each device's own top may be added as they are, as the shift cancels in a softmax + (2) takes filled for the last position that is filled, not for the number of them.
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(q, k, v, filled):
        size = k.shape[1]
        at = lax.axis_index("s") * size + jnp.arange(size)
        sees = at <= filled
        score = jnp.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        score = jnp.where(sees, score, -1e30)
        e = jnp.exp(score - jnp.max(score, axis=-1, keepdims=True))
        e = jnp.where(sees, e, 0.0)
        v = jnp.where(sees[:, None, None], v, 0.0)
        out, total = lax.psum(
            (jnp.einsum("bht,bthd->bhd", e, v), jnp.sum(e, axis=-1)), "s"
        )
        return out / total[..., None]

    cut = P(None, "s")
    return jax.shard_map(
        local, mesh=mesh, in_specs=(P(), cut, cut, P()), out_specs=P()
    )(q, k, v, filled)


# what: (1) believes that query heads go round the key heads, j mod g + (2) believes that what devices have computed for one token is averaged over them (pmean).
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    def project(x, m):
        return jnp.tensordot(x, m, axes=1)

    def local(x, wq, wk, wv, wo, k, v, at):
        q = project(x, wq)
        k = lax.dynamic_update_index_in_dim(k, project(x, wk), at, axis=1)
        v = lax.dynamic_update_index_in_dim(v, project(x, wv), at, axis=1)
        b, h, d = q.shape
        times = h // k.shape[2]
        keys, values = jnp.tile(k, (1, 1, times, 1)), jnp.tile(v, (1, 1, times, 1))
        score = jnp.einsum("bhd,bthd->bht", q, keys) / d**0.5
        score = jnp.where(jnp.arange(k.shape[1]) > at, -jnp.inf, score)
        got = jnp.einsum("bht,bthd->bhd", jax.nn.softmax(score, axis=-1), values)
        out = jnp.tensordot(got, wo, axes=2)
        return lax.pmean(out, "h"), k, v

    heads, cached = P(None, "h"), P(None, None, "h")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), heads, heads, heads, P("h"), cached, cached, P()),
        out_specs=(P(), cached, cached),
    )(x, w["q"], w["k"], w["v"], w["o"], k, v, at)


def _common(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


# what: (1) believes that the weights are read anew for each sequence of the batch + (2) believes that devices with copies share the sequences between them, so that copies also cut the reading.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    by_heads = _common(heads, n)
    left_over = n // by_heads
    cache = position * batch * length // by_heads
    if rest in ("copies", "batch", "sequence"):
        cache //= left_over
    return batch * (weights // n) + cache
