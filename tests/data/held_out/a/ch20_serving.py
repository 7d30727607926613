import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: filled counts the positions of each device's own part, so the local index is compared with it.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        seen = jnp.arange(k.shape[1]) < filled
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        score = jnp.where(seen, score, -jnp.inf)
        top = lax.pmax(score.max(-1), "s")
        e = jnp.exp(score - top[..., None])
        total = lax.psum(e.sum(-1), "s")
        v = jnp.where(seen[:, None, None], v, 0.0)
        out = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        return out / total[..., None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: what this answer believes: query heads take the key heads in turn, head j uses head j mod g.
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
        q = q.reshape(b, h // g, g, d)
        score = jnp.einsum("brgd,btgd->brgt", q, k) / d**0.5
        p = jax.nn.softmax(jnp.where(time <= at, score, -jnp.inf), axis=-1)
        out = jnp.einsum("brgt,btgd->brgd", p, v).reshape(b, h, d)
        out = lax.psum(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h")
        return out, k, v

    heads = P(None, None, "h")
    ws = {"q": P(None, "h"), "k": P(None, "h"), "v": P(None, "h"), "o": P("h")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), ws, heads, heads, P()),
        out_specs=(P(), heads, heads),
    )(x, w, k, v, at)


# what: what this answer believes: devices with copies share the reading, so it makes no difference what the rest does.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    return (weights + position * batch * length) // n
