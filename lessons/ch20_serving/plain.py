"""The same model without a cache, on one device: what must come out."""

import jax
import jax.numpy as jnp
from decoder import norm, rotate


@jax.jit
def plain(w, tokens):
    """f32[batch, time, words]: the logits of every position."""
    x = w["embed"][tokens]
    at = jnp.arange(tokens.shape[1], dtype=jnp.float32)
    for i in range(w["norm1"].shape[0]):
        y = norm(x, w["norm1"][i])
        q, k, v = (jnp.einsum("btd,dhe->bthe", y, w[n][i]) for n in "qkv")
        q, k = rotate(q, at), rotate(k, at)
        y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + jnp.einsum("bthe,hed->btd", y, w["o"][i])
        y = norm(x, w["norm2"][i])
        y = jax.nn.silu(y @ w["gate"][i]) * (y @ w["up"][i])
        x = x + y @ w["down"][i]
    return norm(x, w["norm"]) @ w["head"]
