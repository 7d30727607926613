import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) parts may be added as they are, each relative to its own device's top + (2) filled is the number of the last position that holds a token.
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    def local(q, k, v, filled):
        length = k.shape[1]
        at = lax.axis_index("s") * length + jnp.arange(length)
        seen = at <= filled
        scores = jnp.einsum("bhd,bthd->bht", q, k) / q.shape[2] ** 0.5
        scores = jnp.where(seen, scores, -1e30)
        top = scores.max(axis=-1, keepdims=True)
        e = jnp.where(seen, jnp.exp(scores - top), 0.0)
        v = jnp.where(seen[:, None, None], v, 0.0)
        total = lax.psum(e.sum(axis=-1), "s")
        value = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        return value / total[:, :, None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: (1) positions after the token need no mask, since the cache is empty there + (2) what the devices compute for the same output is averaged over them.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    def local(x, w, k, v, at):
        q, new_k, new_v = (
            jnp.einsum("bD,Dhd->bhd", x, w[name]) for name in ("q", "k", "v")
        )
        k = lax.dynamic_update_slice_in_dim(k, new_k[:, None], at, 1)
        v = lax.dynamic_update_slice_in_dim(v, new_v[:, None], at, 1)
        times = q.shape[1] // k.shape[2]
        keys = jnp.repeat(k, times, axis=2)
        values = jnp.repeat(v, times, axis=2)
        scores = jnp.einsum("bhd,bthd->bht", q, keys) / q.shape[-1] ** 0.5
        attention = jax.nn.softmax(scores, axis=-1)
        seen = jnp.einsum("bht,bthd->bhd", attention, values)
        out = jnp.einsum("bhd,hdD->bD", seen, w["o"])
        return lax.pmean(out, "h"), k, v

    heads, cache = P(None, "h"), P(None, None, "h")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P(),
            {"q": heads, "k": heads, "v": heads, "o": P("h")},
            cache,
            cache,
            P(),
        ),
        out_specs=(P(), cache, cache),
    )(x, w, k, v, at)


# what: (1) heads can be cut over as many devices as there are heads, evenly or not + (2) the weights are read once for each sequence of the batch.
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
    parts = min(heads, n) if rest == "copies" else n
    return batch * (weights // n) + cache // parts
