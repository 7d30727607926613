"""What the decoder's arrays are: sizes, specs, int8, arguments to plan for."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from cache import rounded
from cuts import CACHE
from jax import NamedSharding
from jax.sharding import PartitionSpec as P

ALL = ("h", "r")


@dataclass(frozen=True)
class Sizes:
    layers: int
    width: int  # of a token's numbers between layers
    heads: int  # of queries
    kv: int  # of keys, and of values
    head: int  # width of one
    hidden: int
    words: int  # of the vocabulary

    def cache(self, batch, length):
        return self.layers, length, self.kv, batch, self.head


SMALL = Sizes(3, 64, 16, 4, 8, 128, 256)
LLAMA_8B = Sizes(32, 4096, 32, 8, 128, 14336, 128256)
LLAMA_70B = Sizes(80, 8192, 64, 8, 128, 28672, 128256)


def shapes(s):
    """name → (shape, spec, the axes that a product sums over, or None).

    An int8 weight has a scale for each of the others.
    """
    layers, d = s.layers, s.width
    into = P(None, None, ALL)
    keys = (layers, d, s.kv, s.head), P(None, None, "h"), (1,)
    up = (layers, d, s.hidden), into, (1,)
    return {
        "q": ((layers, d, s.heads, s.head), into, (1,)),
        "k": keys,
        "v": keys,
        "o": ((layers, s.heads, s.head, d), P(None, ALL), (1, 2)),
        "gate": up,
        "up": up,
        "down": ((layers, s.hidden, d), P(None, ALL), (1,)),
        "norm1": ((layers, d), P(), None),
        "norm2": ((layers, d), P(), None),
        "embed": ((s.words, d), P(None, ALL), None),
        "head": ((d, s.words), P(None, ALL), None),
        "norm": ((d,), P(), None),
    }


def _scale(shape, spec, axes):
    """Shape and spec of the scales of an int8 weight."""
    spec = (*spec, *[None] * (len(shape) - len(spec)))
    kept = [i for i in range(len(shape)) if i not in axes]
    return tuple(shape[i] for i in kept), P(*(spec[i] for i in kept))


def specs(s, int8, cut):
    """(of the weights, of the cache), for shard_map."""
    weights = {}
    for name, (shape, spec, axes) in shapes(s).items():
        pair = int8 and axes
        weights[name] = (spec, _scale(shape, spec, axes)[1]) if pair else spec
    names = ("k", "v", "ks", "vs") if int8 else ("k", "v")
    return weights, dict.fromkeys(names, CACHE[cut])


def drawn(s, key):
    """Weights, float32: random, as large as a trained model's begin."""
    found = {}
    for name, (shape, _, axes) in shapes(s).items():
        key, own = jax.random.split(key)
        size = math.prod(shape[a] for a in axes or ())
        found[name] = jax.random.normal(own, shape) * size**-0.5
        if name.startswith("norm"):
            found[name] = jnp.ones(shape)
    return found


def int8_of(weights, s):
    """Those that a product uses as pairs (int8, scales)."""
    axes = {name: a for name, (_, _, a) in shapes(s).items()}
    return {
        name: rounded(x, axes[name]) if axes[name] else x
        for name, x in weights.items()
    }


def float_of(weights, s):
    """float32 again, what the pairs stand for."""
    axes = {name: a for name, (_, _, a) in shapes(s).items()}
    return {
        name: x[0] * jnp.expand_dims(x[1], axes[name])
        if isinstance(x, tuple)
        else x
        for name, x in weights.items()
    }


def empty(s, batch, length, int8, dtype=jnp.float32):
    shape = s.cache(batch, length)
    cache = {n: jnp.zeros(shape, jnp.int8 if int8 else dtype) for n in "kv"}
    if int8:
        cache |= {n: jnp.zeros(shape[:4]) for n in ("ks", "vs")}
    return cache


def arguments(s, mesh, cut, int8, batch, length, time=1):
    """Shapes and places of tokens, first, weights and cache; bf16, int8."""

    def placed(x, spec):
        where = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)

    def weights():
        made = drawn(s, jax.random.key(0))
        made = {n: x.astype(jnp.bfloat16) for n, x in made.items()}
        return int8_of(made, s) if int8 else made

    def cache():
        return empty(s, batch, length, int8, jnp.bfloat16)

    made = jax.eval_shape(weights), jax.eval_shape(cache)
    tokens = jax.ShapeDtypeStruct((batch, time), jnp.int32)
    first = jax.ShapeDtypeStruct((), jnp.int32)
    return (
        placed(tokens, P()),
        placed(first, P()),
        *jax.tree.map(placed, made, specs(s, int8, cut)),
    )
