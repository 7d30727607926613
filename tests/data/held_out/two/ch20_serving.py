import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: (1) each device's own top cancels in the quotient, so nothing has to be rescaled; and (2) position filled itself is seen.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        size = k.shape[1]
        pos = lax.axis_index("s") * size + jnp.arange(size)
        seen = pos <= filled
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        score = jnp.where(seen, score, -jnp.inf)
        top = jnp.where(seen.any(), score.max(-1), 0.0)
        e = jnp.exp(score - top[..., None])
        v = jnp.where(seen[:, None, None], v, 0.0)
        out = lax.psum(jnp.einsum("bht,bthd->bhd", e, v), "s")
        return out / lax.psum(e.sum(-1), "s")[..., None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: what this answer believes: (1) positions are dealt out to the devices in turn; and (2) the place is empty, so adding the token writes it.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    n = mesh.shape["s"]

    def local(cache, new, at):
        rows = jnp.arange(cache.shape[0]) * n + lax.axis_index("s")
        hot = (rows == at).astype(cache.dtype)
        return cache + hot[:, None, None] * new

    return jax.shard_map(local, mesh=mesh, in_specs=(P("s"), P(), P()), out_specs=P("s"))(cache, new, at)


# what: what this answer believes: (1) the token attends to what was in the cache before it, not to itself; and (2) each device has an estimate of the output, of which the mean is taken.
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
        q = q.reshape(b, g, h // g, d)
        score = jnp.einsum("bgrd,btgd->bgrt", q, k) / d**0.5
        p = jax.nn.softmax(score, axis=-1, where=time < at)
        out = jnp.einsum("bgrt,btgd->bgrd", p, v).reshape(b, h, d)
        out = lax.pmean(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h")
        k = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["k"])[:, None], k)
        v = jnp.where(here, jnp.einsum("bD,Dgd->bgd", x, w["v"])[:, None], v)
        return out, k, v

    cache = P(None, None, "h")
    ws = {"q": P(None, "h"), "k": P(None, "h"), "v": P(None, "h"), "o": P("h")}
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), ws, cache, cache, P()),
        out_specs=(P(), cache, cache),
    )(x, w, k, v, at)


# what: what this answer believes: (1) query head j uses key head j mod g; and (2) k_scale replaces the division by the root of d.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    score = jnp.einsum("rgd,tgd->rgt", q.reshape(h // g, g, d), k * 1.0)
    p = jax.nn.softmax(score * k_scale.T, axis=-1) * v_scale.T
    return jnp.einsum("rgt,tgd->rgd", p, v * 1.0).reshape(h, d)


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
