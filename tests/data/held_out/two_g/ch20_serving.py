import math

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: (1) believes that the mean of the devices' own attentions is the attention to all + (2) believes that filled counts the positions in each device's own part.
def attend_cut(
    q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh
) -> jax.Array:
    width = q.shape[-1]

    def part(q, k, v, filled):
        score = jnp.einsum("bhd,bthd->bht", q, k) * width**-0.5
        seen = jnp.arange(k.shape[1])[None, None] < filled
        p = jax.nn.softmax(jnp.where(seen, score, -1e30), axis=-1)
        own = jnp.einsum("bht,bthd->bhd", p, v)
        return lax.pmean(own, "s")

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: (1) believes that the token attends to the cache as it came, and its own key and value are put in for the next token only + (2) believes that scores are divided by the root of the model's whole width D, not of a head's.
def decode_step(
    x: jax.Array,
    w: dict[str, jax.Array],
    k: jax.Array,
    v: jax.Array,
    at: jax.Array,
    mesh: Mesh,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    scale = 1.0 / math.sqrt(x.shape[-1])
    layout = {"q": P(None, "h"), "k": P(None, "h"), "v": P(None, "h"), "o": P("h")}
    cut = P(None, None, "h")

    def write(cache, token, at):
        return lax.dynamic_update_slice(cache, token[:, None], (0, at, 0, 0))

    def part(x, w, k, v, at):
        b, T, g, d = k.shape
        q = jnp.einsum("bD,Dhd->bhd", x, w["q"]).reshape(b, g, -1, d)
        score = jnp.einsum("bgrd,btgd->bgrt", q, k) * scale
        seen = jnp.arange(T) <= at
        p = jax.nn.softmax(jnp.where(seen, score, -1e30), axis=-1)
        y = jnp.einsum("bgrt,btgd->bgrd", p, v).reshape(b, -1, d)
        out = lax.psum(jnp.einsum("bhd,hdD->bD", y, w["o"]), "h")
        k = write(k, jnp.einsum("bD,Dgd->bgd", x, w["k"]), at)
        v = write(v, jnp.einsum("bD,Dgd->bgd", x, w["v"]), at)
        return out, k, v

    return jax.shard_map(
        part,
        mesh=mesh,
        in_specs=(P(), layout, cut, cut, P()),
        out_specs=(P(), cut, cut),
    )(x, {name: w[name] for name in layout}, k, v, at)


# what: (1) believes that a device reads its weights anew for each sequence of the batch + (2) believes that the heads are cut over min(heads, n) devices, whether or not that comes out even.
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
    if rest == "copies":
        cache = cache // min(heads, n)
    else:
        cache = cache // n
    return batch * (weights // n) + cache
