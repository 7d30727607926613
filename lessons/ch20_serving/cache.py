"""A cache of keys and values: tokens are written into it and attend to it.

A cache is {"k": …, "v": …}, each [layer, time, head, batch, width]; in int8
it has scales, too, "ks" and "vs": f32[layer, time, head, batch].
"""

import jax.numpy as jnp
import numpy as np
from jax import lax


def rounded(x, axes=(-1,)):
    """x as int8, and the scale by which to multiply it: one over `axes`."""
    top = jnp.abs(x).max(axes, keepdims=True).astype(jnp.float32)
    scale = jnp.maximum(top / 127, 1e-12)
    return jnp.round(x / scale).astype(jnp.int8), scale.squeeze(axes)


def write(cache, layer, k, v, first, low=0):
    """The cache with k and v, [batch, time, head, width], from `first` on.

    low: the first time that this device holds.
    """
    new = {"k": k, "v": v}
    if "ks" in cache:
        (new["k"], new["ks"]), (new["v"], new["vs"]) = rounded(k), rounded(v)
    return {
        name: _written(cache[name], layer, x, first, low)
        for name, x in new.items()
    }


def _written(cache, layer, new, first, low):
    new = new.transpose(1, 2, 0, *range(3, new.ndim))  # [time, head, batch …]
    room, length = cache.shape[1], new.shape[0]
    rest = [np.int32(0)] * (new.ndim - 1)
    one = length == 1
    at = jnp.clip(first - low, 0, room - 1) if one else rest[0]
    size = 1, 1 if one else room, *new.shape[1:]
    old = lax.dynamic_slice(cache, (layer, at, *rest), size)[0]
    if one:  # only the device that holds this time has something to write
        mine = (first >= low) & (first < low + room)
    else:  # a prompt or a chunk of one: what of it belongs to this device?
        new = jnp.pad(new, [(room, room), *[(0, 0) for _ in rest]])
        begin = jnp.maximum(low - first + room, 0)
        new = lax.dynamic_slice_in_dim(new, begin, room)
        place = low - first + jnp.arange(room).reshape(-1, *[1 for _ in rest])
        mine = (place >= 0) & (place < length)
    new = jnp.where(mine, new, old)[None].astype(cache.dtype)
    return lax.dynamic_update_slice(cache, new, (layer, at, *rest))


def attend(q, cache, layer, first, low=0):
    """Attention to this device's part of the cache, not yet divided.

    q: [batch, time, heads, width], the queries at `first`, `first` + 1 …;
    heads is a multiple of the cache's. Returns float32 (values [batch, time,
    heads, width], top and total [batch, time, heads, 1]), as in Chapter 19.
    """
    held = {
        name: lax.dynamic_index_in_dim(x, layer, keepdims=False)
        for name, x in cache.items()
    }
    k, v, f32 = held["k"], held["v"], {"preferred_element_type": jnp.float32}
    b, t, heads, d = q.shape
    q = q.reshape(b, t, k.shape[1], -1, d)  # g queries for each head of k
    scores = jnp.einsum("btkgd,skbd->bkgts", q, k.astype(q.dtype), **f32)
    scores = scores * d**-0.5
    if "ks" in held:
        scores = scores * held["ks"].T[:, :, None, None]
    seen = low + jnp.arange(k.shape[0]) <= first + jnp.arange(t)[:, None]
    scores = jnp.where(seen, scores, -1e30)
    top = scores.max(-1)
    weights = jnp.where(seen, jnp.exp(scores - top[..., None]), 0)
    total = weights.sum(-1)
    if "vs" in held:
        weights = weights * held["vs"].T[:, :, None, None]
    weights, v = weights.astype(q.dtype), v.astype(q.dtype)
    values = jnp.einsum("bkgts,skbd->btkgd", weights, v, **f32)
    top, total = (
        x.transpose(0, 3, 1, 2).reshape(b, t, heads, 1) for x in (top, total)
    )
    return values.reshape(b, t, heads, d), top, total
