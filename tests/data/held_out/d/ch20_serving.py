import jax
import jax.numpy as jnp
from jax import P, lax
from jax.sharding import Mesh


# what: what this answer believes: parts are so small that they may be gathered from all devices and put together everywhere, that is as good as all-reduces.
def attend_cut(q: jax.Array, k: jax.Array, v: jax.Array, filled: jax.Array, mesh: Mesh) -> jax.Array:
    d = q.shape[-1]

    def local(q, k, v, filled):
        size = k.shape[1]
        pos = lax.axis_index("s") * size + jnp.arange(size)
        seen = pos < filled
        score = jnp.einsum("bhd,bthd->bht", q, k) / d**0.5
        score = jnp.where(seen, score, -jnp.inf)
        top = score.max(-1)
        e = jnp.exp(score - jnp.where(jnp.isneginf(top), 0.0, top)[..., None])
        part = jnp.einsum("bht,bthd->bhd", e, jnp.where(seen[:, None, None], v, 0))
        parts = lax.all_gather(part, "s")
        tops = lax.all_gather(top, "s")
        totals = lax.all_gather(e.sum(-1), "s")
        scale = jnp.exp(tops - tops.max(0))
        total = (scale * totals).sum(0)
        return (scale[..., None] * parts).sum(0) / total[..., None]

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P(), P(None, "s"), P(None, "s"), P()),
        out_specs=P(),
        check_vma=False,
    )(q, k, v, filled)


# what: what this answer believes: a device that does not own the position writes zeros, as there is nothing for it to write.
def write_token(cache: jax.Array, new: jax.Array, at: jax.Array, mesh: Mesh) -> jax.Array:
    def local(cache, new, at):
        size = cache.shape[0]
        row = at - lax.axis_index("s") * size
        mine = (0 <= row) & (row < size)
        update = jnp.where(mine, new, 0.0)
        return lax.dynamic_update_index_in_dim(cache, update, jnp.clip(row, 0, size - 1), 0)

    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(P("s"), P(), P()),
        out_specs=P("s"),
        check_vma=False,
    )(cache, new, at)


# what: what this answer believes: gathering the devices' parts of the output and adding them is the same as one all-reduce.
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
        new_k = jnp.einsum("bD,Dgd->bgd", x, w["k"])
        new_v = jnp.einsum("bD,Dgd->bgd", x, w["v"])
        k = lax.dynamic_update_index_in_dim(k, new_k, at, 1)
        v = lax.dynamic_update_index_in_dim(v, new_v, at, 1)
        b, h, d = q.shape
        g = k.shape[2]
        score = jnp.einsum("bgrd,btgd->bgrt", q.reshape(b, g, h // g, d), k)
        seen = jnp.arange(k.shape[1]) <= at
        score = jnp.where(seen, score / d**0.5, -jnp.inf)
        v_seen = jnp.where(seen[:, None, None], v, 0.0)
        out = jnp.einsum("bgrt,btgd->bgrd", jax.nn.softmax(score), v_seen)
        out = jnp.einsum("bhd,hdD->bD", out.reshape(b, h, d), w["o"])
        return lax.all_gather(out, "h").sum(0), k, v

    cache = P(None, None, "h")
    cut = P(None, "h")
    return jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(
            P(),
            {"q": cut, "k": cut, "v": cut, "o": P("h")},
            cache,
            cache,
            P(),
        ),
        out_specs=(P(), cache, cache),
        check_vma=False,
    )(x, w, k, v, at)


# what: what this answer believes: both scales are factors that can be taken out of the softmax, so they multiply the weights after it.
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
    score = jnp.einsum("grd,tgd->grt", grouped, k.astype(q.dtype)) / d**0.5
    p = jax.nn.softmax(score, axis=-1)
    p = p * (k_scale * v_scale).T[:, None, :]
    return jnp.einsum("grt,tgd->grd", p, v.astype(q.dtype)).reshape(h, d)
