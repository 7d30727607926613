import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# style: one common top first, then two sums over the devices.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        size = k.shape[1]
        pos = lax.axis_index("s") * size + jnp.arange(size)
        seen = pos < filled
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        score = jnp.where(seen, score, -jnp.inf)
        top = lax.pmax(score.max(-1), "s")
        e = jnp.exp(score - top[..., None])
        v = jnp.where(seen[:, None, None], v, 0.0)
        out = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        total = lax.psum(e.sum(-1), "s")
        return out / total[..., None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# style: select by global position.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    def local(cache, new, at):
        size = cache.shape[0]
        here = lax.axis_index("s") * size + jnp.arange(size) == at
        return jnp.where(here[:, None, None], new, cache)

    return jax.shard_map(local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


# style: shard_map with grouped heads, the cache written with a select.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    def local(x, w, k, v, at):
        q = jnp.einsum("bD,Dhd->bhd", x, w["q"])
        b, h, d = q.shape
        g = k.shape[2]
        time = jnp.arange(k.shape[1])
        here = (time == at)[:, None, None]
        k = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["k"])[:, None], k)
        v = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["v"])[:, None], v)
        q = q.reshape(b, g, h // g, d)
        score = jnp.einsum("bgrd,btgd->bgrt", q, k) / d**0.5
        p = jax.nn.softmax(jnp.where(time <= at, score, -jnp.inf), axis=-1)
        safe = jnp.where((time <= at)[:, None, None], v, 0.0)
        out = jnp.einsum("bgrt,btgd->bgrd", p, safe).reshape(b, h, d)
        return lax.psum(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h"), k, v

    cache = P(None, None, "h")
    ws = {"q": P(None, "h"), "k": P(None, "h"), "v": P(None, "h"), "o": P("h")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), ws, cache, cache, P()),
        out_specs=(P(), cache, cache),
    )(x, w, k, v, at)


# style: scales multiply scores and weights, the cache is never multiplied out.
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
    score = jnp.einsum("grd,tgd->grt", grouped, k.astype(q.dtype))
    score = score * k_scale.T[:, None] / d**0.5
    p = jax.nn.softmax(score, axis=-1) * v_scale.T[:, None]
    return jnp.einsum("grt,tgd->grd", p, v.astype(q.dtype)).reshape(h, d)


# style: count the different parts, then two divisions.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    over = max(i for i in range(1, n + 1) if heads % i == 0 and n % i == 0)
    parts = over if rest == "copies" else n
    return weights // n + position * batch * length // parts
