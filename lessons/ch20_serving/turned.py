"""The step, its cache in the other order: [layer, batch, head, time, width].

Only "batch" of `cuts`, one token, int8: to be planned as well.
"""

from functools import partial

import jax
import jax.numpy as jnp
from arrays import ALL, arguments, specs
from cache import rounded
from decoder import forward
from jax import NamedSharding, lax
from jax.experimental.layout import Format, Layout
from jax.sharding import PartitionSpec as P

CACHE = P(None, "r", "h")


def attention(q, k, v, cache, layer, first):
    """As `cuts.attention`."""
    i, size = lax.axis_index("r"), cache["k"].shape[1]
    k, v = (lax.dynamic_slice_in_dim(x, i * size, size) for x in (k, v))
    q = lax.all_to_all(q, "r", split_axis=0, concat_axis=2, tiled=True)
    new = {}
    (new["k"], new["ks"]), (new["v"], new["vs"]) = rounded(k), rounded(v)
    held = {}
    for name, x in new.items():
        x = x.swapaxes(1, 2)[None].astype(cache[name].dtype)
        at = layer, 0, 0, first, *[0] * (x.ndim - 4)
        cache = cache | {name: lax.dynamic_update_slice(cache[name], x, at)}
        held[name] = lax.dynamic_index_in_dim(
            cache[name], layer, keepdims=False
        )
    k, v, f32 = held["k"], held["v"], {"preferred_element_type": jnp.float32}
    b, _, heads, d = q.shape
    q = q.reshape(b, k.shape[1], -1, d)
    scores = jnp.einsum("bkgd,bksd->bkgs", q, k.astype(q.dtype), **f32)
    scores = scores * d**-0.5 * held["ks"][:, :, None]
    seen = jnp.arange(k.shape[2]) <= first
    scores = jnp.where(seen, scores, -1e30)
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    total = weights.sum(-1, keepdims=True)
    weights = (weights * held["vs"][:, :, None]).astype(q.dtype)
    values = jnp.einsum("bkgs,bksd->bkgd", weights, v.astype(q.dtype), **f32)
    out = (values / total).reshape(b, 1, heads, d).astype(q.dtype)
    back = {"split_axis": 2, "concat_axis": 0, "tiled": True}
    return lax.all_to_all(out, "r", **back), cache


def turned(mesh, sizes, batch, length, auto=False):
    """(the step, its arguments), as `served.step`. auto: the compiler chooses
    the order in which the dimensions of the cache lie in memory."""
    weights, cache = specs(sizes, True, "batch")
    cache = dict.fromkeys(cache, CACHE)
    *args, held = arguments(sizes, mesh, "batch", True, batch, length)
    order = 0, 3, 2, 1, 4  # of [layer, time, head, batch, width]
    where = NamedSharding(mesh, CACHE)
    held = {
        name: jax.ShapeDtypeStruct(
            tuple(x.shape[i] for i in order[: len(x.shape)]),
            x.dtype,
            sharding=where,
        )
        for name, x in held.items()
    }
    step = jax.shard_map(
        partial(forward, attention=attention),
        mesh=mesh,
        in_specs=(P(), P(), weights, cache),
        out_specs=(P(None, ALL), cache),
        check_vma=False,
    )
    orders = {}
    if auto:
        each = dict.fromkeys(held, Format(Layout.AUTO, where))
        orders["in_shardings"] = None, None, None, each
        orders["out_shardings"] = None, each
    return jax.jit(step, donate_argnums=3, **orders), (*args, held)
