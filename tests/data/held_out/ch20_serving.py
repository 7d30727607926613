import jax
import jax.numpy as jnp
import math
from jax import P
from jax import lax
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


# what: the scale of the values can be taken out of the sum over time, as the attention's mean of the scales.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    q = q.reshape(g, h // g, d)
    scores = jnp.einsum("grd,tgd->grt", q, k.astype(q.dtype))
    scores = scores * k_scale.T[:, None, :] / d**0.5
    weights = jax.nn.softmax(scores, axis=-1)
    mean = jnp.einsum("grt,tgd->grd", weights, v.astype(q.dtype))
    scale = jnp.einsum("grt,tg->gr", weights, v_scale)
    return (mean * scale[..., None]).reshape(h, d)


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


# what: what this answer believes: (1) positions are dealt out to the devices in turn; and (2) the place is empty, so adding the token writes it.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]

    def local(cache, new, at):
        rows = jnp.arange(cache.shape[0]) * n + lax.axis_index("s")
        hot = (rows == at).astype(cache.dtype)
        return cache + hot[:, None, None] * new

    return jax.shard_map(local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


# what: what this answer believes: (1) position is the size of one head, so it is multiplied by heads; and (2) with "sequence" a token has to see all positions, so a device reads all of them, as with copies.
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
    cache = position * heads * batch * length // over
    if rest == "batch":
        cache = cache * over // n
    return weights // n + cache
