"""The gradients of a step: its microbatches in a loop, or one without a loop.

    minipod plan lessons/ch17_step/one_turn.py:one_turn --on v5e:2x4 \
        --mesh data=8,model=1
"""

from functools import partial

import jax
import jax.numpy as jnp
from explicit import loss
from planned import BF16, nothing, one_all, zero_3
from zero import CUT


def in_a_loop(p, parts, **how):
    def add(total, part):
        found = jax.value_and_grad(loss)(p, part, CUT, **how)
        return jax.tree.map(jnp.add, total, found), None

    zeros = jnp.float32(0), jax.tree.map(jnp.zeros_like, p)
    return jax.lax.scan(add, zeros, parts)[0]


def without(p, parts, **how):
    return jax.value_and_grad(loss)(p, parts[0], CUT, **how)


def program(mesh, find, of=zero_3, parts=1, **how):
    """(gradients, arguments): the parameters and tokens of the step `of`."""
    _, (p, _, tokens) = of(mesh, parts=parts)
    mesh = p["up"].sharding.mesh.abstract_mesh

    def on_mesh(p, tokens):
        with jax.sharding.use_abstract_mesh(mesh):
            return find(p, tokens, **how)

    return jax.jit(on_mesh), (p, tokens)


small = partial(program, keep=nothing)
no_loop = partial(small, find=without)
one_turn = partial(small, find=in_a_loop)
four_turns = partial(small, find=in_a_loop, parts=4)
large = partial(program, of=one_all, dtype=BF16)
large_no_loop = partial(large, find=without)
large_one_turn = partial(large, find=in_a_loop)
