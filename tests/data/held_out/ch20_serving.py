import jax
import jax.numpy as jnp
from jax import P
from jax import lax
from jax.sharding import Mesh


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
