"""The model: a transformer over bytes in Flax NNX. Each parameter is made where layouts.py says that it lies."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax import P

from byte_lm.layouts import FLOWING, HEADS, HIDDEN, VOCABULARY, WIDTH, gathered

BYTES = 256


@dataclass(frozen=True)
class Sizes:
    layers: int = 2
    width: int = 64
    heads: int = 8
    hidden: int = 256
    length: int = 64  # positions


class Weight(nnx.Module):
    """A parameter, f32. Called, it is whole along "data"."""

    def __init__(self, shape: Sequence[int], spec: P, rngs: nnx.Rngs, fan_in: int = 0):
        w = jax.random.normal(rngs.params(), shape) / (fan_in or shape[0]) ** 0.5
        self.kernel = nnx.Param(w, out_sharding=spec)

    def __call__(self) -> jax.Array:
        return gathered(self.kernel[...])


class Block(nnx.Module):
    def __init__(self, sizes: Sizes, rngs: nnx.Rngs):
        width, heads, each = sizes.width, sizes.heads, sizes.width // sizes.heads
        self.qkv = Weight((width, 3, heads, each), P(WIDTH, None, HEADS, None), rngs)
        self.out = Weight((heads, each, width), P(HEADS, None, WIDTH), rngs, fan_in=width)
        self.up = Weight((width, sizes.hidden), P(WIDTH, HIDDEN), rngs)
        self.down = Weight((sizes.hidden, width), P(HIDDEN, WIDTH), rngs)
        self.norm1, self.norm2 = nnx.RMSNorm(width, rngs=rngs), nnx.RMSNorm(width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:  # f32[rows, length, width], FLOWING
        q, k, v = jnp.einsum("bsd,dthk->tbshk", self.norm1(x), self.qkv())
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + jnp.einsum("bshk,hkd->bsd", mixed, self.out(), out_sharding=FLOWING)
        hidden = jax.nn.gelu(self.norm2(x) @ self.up())
        return x + jnp.dot(hidden, self.down(), out_sharding=FLOWING)


class Net(nnx.Module):
    def __init__(self, sizes: Sizes, rngs: nnx.Rngs):
        width = sizes.width
        self.embed = Weight((BYTES, width), P(None, WIDTH), rngs, fan_in=width)
        self.position = Weight((sizes.length, width), P(None, WIDTH), rngs, fan_in=width)
        self.blocks = nnx.List([Block(sizes, rngs) for _ in range(sizes.layers)])
        self.norm = nnx.RMSNorm(width, rngs=rngs)
        self.logits = Weight((width, BYTES), P(WIDTH, VOCABULARY), rngs)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """f32[rows, length, 256], logits of the byte after each of tokens, int32[rows, length]."""
        x = self.embed().at[tokens].get(out_sharding=FLOWING)
        position = jnp.broadcast_to(self.position()[: tokens.shape[1]], x.shape)
        x = x + jax.reshard(position, FLOWING)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.logits()


def loss(net: Net, tokens: jax.Array) -> jax.Array:
    """Mean surprise at each next byte, in nats. tokens: int32[rows, length + 1], cut by ROWS."""
    logits = net(tokens[:, :-1])
    right = jax.nn.one_hot(tokens[:, 1:], BYTES)
    return optax.losses.softmax_cross_entropy(logits, right).mean()
