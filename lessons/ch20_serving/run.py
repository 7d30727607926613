"""Serve: a prompt, then a token at a time, on a mesh with "h" and "r"."""

import jax
import jax.numpy as jnp
from arrays import empty, int8_of, specs
from decoder import program
from jax import NamedSharding
from jax.sharding import AxisType

from minipod import traffic


def mesh_of(h, r):
    kinds = (AxisType.Auto,) * 2
    return jax.make_mesh(
        (h, r), ("h", "r"), kinds, devices=jax.devices()[: h * r]
    )


def placed(tree, specs, mesh):
    return jax.tree.map(
        lambda x, spec: jax.device_put(x, NamedSharding(mesh, spec)),
        tree,
        specs,
    )


def serve(s, mesh, cut, weights, tokens, prompt, room, int8=False):
    """(logits of the positions from the prompt's last on [batch, …, words],
    the step for one token, compiled, and the cache as it then is).

    weights: float32. tokens: [batch, time]; the first `prompt` come at once.
    ValueError where the cache has no room for all of them.
    """
    if tokens.shape[1] > room:
        have = f"{tokens.shape[1]} tokens and room for {room}"
        raise ValueError(f"the cache would be full: {have}")
    of_weights, of_cache = specs(s, int8, cut)
    weights = int8_of(weights, s) if int8 else weights
    weights = placed(weights, of_weights, mesh)
    cache = placed(empty(s, len(tokens), room, int8), of_cache, mesh)
    step, found = program(s, mesh, cut, int8), []
    for begin in (0, *range(prompt, tokens.shape[1])):
        given = tokens[:, begin : begin + 1] if begin else tokens[:, :prompt]
        logits, cache = step(given, jnp.int32(begin), weights, cache)
        found.append(jax.device_get(logits))
    compiled = step.lower(given, jnp.int32(begin), weights, cache).compile()
    return jnp.stack(found, axis=1), compiled, cache


def held(cache):
    """Bytes of a cache that one device has."""
    leaves = jax.tree.leaves(cache)
    return sum(x.addressable_shards[0].data.nbytes for x in leaves)


def sent(compiled):
    """Bytes that a device sends."""
    return traffic.total(traffic.read(compiled.as_text()))
