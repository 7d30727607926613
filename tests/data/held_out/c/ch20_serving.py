import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: positions that hold nothing are zeros and add nothing, so setting k and v to 0 there is a mask.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        size = k.shape[1]
        pos = lax.axis_index("s") * size + jnp.arange(size)
        empty = (pos >= filled)[None, :, None, None]
        k = jnp.where(empty, 0.0, k)
        v = jnp.where(empty, 0.0, v)
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        top = lax.pmax(score.max(-1), "s")
        e = jnp.exp(score - top[..., None])
        out = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        total = lax.psum(e.sum(-1), "s")
        return out / total[..., None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: what this answer believes: positions are dealt out in turn, position at lies on device at mod n in row at // n.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]

    def local(cache, new, at):
        mine = lax.axis_index("s") == at % n
        row = jnp.arange(cache.shape[0]) == at // n
        return jnp.where((mine & row)[:, None, None], new, cache)

    return jax.shard_map(local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


# what: what this answer believes: inside shard_map the cache is still indexed by the key head's number in the whole model.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    share = w["q"].shape[1] // w["k"].shape[1]

    def local(x, w, k, v, at):
        q = jnp.einsum("bD,Dhd->bhd", x, w["q"])
        h, d = q.shape[1:]
        time = jnp.arange(k.shape[1])
        here = (time == at)[:, None, None]
        k = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["k"])[:, None], k)
        v = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["v"])[:, None], v)
        j = lax.axis_index("h") * h + jnp.arange(h)
        group = j // share
        keys = jnp.take(k, group, axis=2, mode="clip")
        values = jnp.take(v, group, axis=2, mode="clip")
        score = jnp.einsum("bhd,bthd->bht", q, keys) / d**0.5
        p = jax.nn.softmax(jnp.where(time <= at, score, -jnp.inf), axis=-1)
        out = jnp.einsum("bht,bthd->bhd", p, values)
        return lax.psum(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h"), k, v

    cache = P(None, None, "h")
    ws = {name: P(None, "h") for name in ("q", "k", "v")} | {"o": P("h")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), ws, cache, cache, P()),
        out_specs=(P(), cache, cache),
    )(x, w, k, v, at)


# what: what this answer believes: to use the int8 cache as it is, q is made int8 too, and the product of int8 by int8 can hold the sum.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    q_scale = jnp.abs(q).max(-1, keepdims=True) / 127
    q8 = jnp.round(q / q_scale).astype(jnp.int8).reshape(g, h // g, d)
    dot = jnp.einsum("grd,tgd->grt", q8, k)
    score = dot.astype(jnp.float32) * q_scale.reshape(g, h // g, 1)
    score = score * k_scale.T[:, None] / d**0.5
    p = jax.nn.softmax(score, axis=-1) * v_scale.T[:, None]
    out = jnp.einsum("grt,tgd->grd", p, v.astype(jnp.float32))
    return out.reshape(h, d)


# what: what this answer believes: to compute a token every device needs all weights, so it reads all of them.
def step_bytes(
    weights: int,
    position: int,
    heads: int,
    batch: int,
    length: int,
    n: int,
    rest: str,
) -> int:
    over = n
    if rest == "copies":
        over, r = heads, n
        while r:
            over, r = r, over % r
    return weights + position * batch * length // over
