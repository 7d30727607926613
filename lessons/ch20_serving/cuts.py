"""Attention with a cache that is cut over a mesh with the axes "h" and "r".

h cuts the heads of the cache. What r cuts, when they have run out, is `cut`:
"heads" (nothing: every device along r has a copy), "batch" or "sequence".
"""

import jax.numpy as jnp
from cache import attend, write
from jax import lax
from jax.sharding import PartitionSpec as P

CACHE = {  # [layer, time, head, batch, width]
    "heads": P(None, None, "h"),
    "batch": P(None, None, "h", "r"),
    "sequence": P(None, "r", "h"),
}


def attention(q, k, v, cache, layer, first, cut):
    """(this device's heads of the result, the cache with k and v).

    q: [batch, time, heads, width], heads cut by h and by r; k and v: cut by
    h, the same along r. Their times begin with `first`.
    """
    i, room, mine = lax.axis_index("r"), cache["k"].shape[1], q.shape[2]
    if cut == "batch":
        size = cache["k"].shape[3]
        k, v = (lax.dynamic_slice_in_dim(x, i * size, size) for x in (k, v))
        cache = write(cache, layer, k, v, first)
        q = lax.all_to_all(q, "r", split_axis=0, concat_axis=2, tiled=True)
        values, _, total = attend(q, cache, layer, first)
        out = (values / total).astype(q.dtype)
        back = {"split_axis": 2, "concat_axis": 0, "tiled": True}
        return lax.all_to_all(out, "r", **back), cache
    low = i * room if cut == "sequence" else 0
    cache = write(cache, layer, k, v, first, low)
    q = lax.all_gather(q, "r", axis=2, tiled=True)
    values, top, total = attend(q, cache, layer, first, low)
    if cut == "sequence":  # merge: bring all to one top, add, divide
        scale = jnp.exp(top - lax.pmax(top, "r"))
        values, total = (
            lax.psum_scatter(x * scale, "r", scatter_dimension=2, tiled=True)
            for x in (values, total)
        )
        return (values / total).astype(q.dtype), cache
    out = (values / total).astype(q.dtype)
    return lax.dynamic_slice_in_dim(out, i * mine, mine, axis=2), cache
