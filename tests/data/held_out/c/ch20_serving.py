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
