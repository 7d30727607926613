import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: each device may normalise its own part, and the result is the mean over the devices that see something.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        size = k.shape[1]
        pos = lax.axis_index("s") * size + jnp.arange(size)
        seen = pos < filled
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        score = jnp.where(seen, score, -jnp.inf)
        any_seen = seen.any()
        top = jnp.where(any_seen, score.max(-1, keepdims=True), 0.0)
        e = jnp.exp(score - top)
        p = e / jnp.where(any_seen, e.sum(-1, keepdims=True), 1.0)
        out = jnp.einsum("bht,bthd->bhd", p, jnp.where(seen[:, None, None], v, 0))
        devices = lax.psum(any_seen.astype(jnp.float32), "s")
        return lax.psum(out, "s") / devices

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
    )(q, k, v, filled)


# what: what this answer believes: mode="drop" drops every index outside of the part, negative ones too (they count from the end).
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    def local(cache, new, at):
        row = at - lax.axis_index("s") * cache.shape[0]
        return cache.at[row].set(new, mode="drop")

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


# what: what this answer believes: where heads are cut over devices a softmax needs the top and the total over all devices.
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
        score = jnp.where(time <= at, score, -jnp.inf)
        top = lax.pmax(score.max(-1, keepdims=True), "h")
        e = jnp.exp(score - top)
        total = lax.psum(e.sum(-1, keepdims=True), "h")
        out = jnp.einsum("bgrt,btgd->bgrd", e / total, v).reshape(b, h, d)
        return lax.psum(jnp.einsum("bhd,hdD->bD", out, w["o"]), "h"), k, v

    heads = P(None, None, "h")
    cut = P(None, "h")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P(),
            {"q": cut, "k": cut, "v": cut, "o": P("h")},
            heads,
            heads,
            P(),
        ),
        out_specs=(P(), heads, heads),
    )(x, w, k, v, at)


# what: what this answer believes: weights multiplied by v_scale have to be normalised again so that they sum to 1.
def attend_int8(
    q: jax.Array,
    k: jax.Array,
    k_scale: jax.Array,
    v: jax.Array,
    v_scale: jax.Array,
) -> jax.Array:
    h, d = q.shape
    g = k.shape[1]
    repeat = h // g
    k_scale = jnp.repeat(k_scale, repeat, axis=1).T
    v_scale = jnp.repeat(v_scale, repeat, axis=1).T
    k = jnp.repeat(k.astype(jnp.float32), repeat, axis=1)
    v = jnp.repeat(v.astype(jnp.float32), repeat, axis=1)
    score = jnp.einsum("hd,thd->ht", q, k) * k_scale / d**0.5
    e = jnp.exp(score - score.max(-1, keepdims=True)) * v_scale
    p = e / e.sum(-1, keepdims=True)
    return jnp.einsum("ht,thd->hd", p, v)


# what: what this answer believes: heads that do not divide evenly are still cut over min(heads, n) devices.
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
    over = min(heads, n)
    if rest == "copies":
        return weights // n + cache // over
    return weights // n + cache // (over * (n // over))
