"""One layer's attention to a long sequence, for `minipod plan`.

    minipod plan lessons/ch19_sequences/long.py:ring_128k --on v5p:2x2x2 \
        --mesh s=8

32 heads of queries, 8 of keys and values, of 128 numbers in bf16. `gradient_`
has the gradients, too.
"""

from functools import partial

import jax
import jax.numpy as jnp
from bill import cut, with_gradient
from jax import NamedSharding, P
from ring import ring
from ring_vjp import ring_vjp
from ways import gathered, ulysses
from zigzag import zigzag


def attention(mesh, way, length, gradient=False):
    """(function, arguments): causal attention of one sequence, mesh "s"."""
    place = NamedSharding(mesh, P(None, "s"))
    q, k, v, d_out = (
        jax.ShapeDtypeStruct((1, length, h, 128), jnp.bfloat16, sharding=place)
        for h in (32, 8, 8, 32)
    )
    f = cut(way, mesh)
    if gradient:
        return jax.jit(with_gradient(f)), (q, k, v, d_out)
    return jax.jit(f), (q, k, v)


K = 1024
gathered_128k = partial(attention, way=gathered, length=128 * K)
gathered_8_pieces_128k = partial(
    attention, way=partial(gathered, pieces=8), length=128 * K
)
ulysses_8_pieces_128k = partial(
    attention, way=partial(ulysses, pieces=8), length=128 * K
)
ring_128k = partial(attention, way=ring, length=128 * K)
zigzag_128k = partial(attention, way=zigzag, length=128 * K)
gradient_ring_128k = partial(ring_128k, gradient=True)
gradient_ring_vjp_128k = partial(
    attention, way=ring_vjp, length=128 * K, gradient=True
)
zigzag_million = partial(attention, way=zigzag, length=1024 * K)
