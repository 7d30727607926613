"""Exchanges that are often written by hand, as programs of whole arrays."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax


def convolved(x):  # f32[64, 16]: the mean of three rows, by a convolution
    thirds = jnp.full(3, 1 / 3)
    return jax.vmap(lambda c: jnp.convolve(c, thirds, "same"), 1, 1)(x)


def padded(x):  # the same, from a padded array
    p = jnp.pad(x, ((1, 1), (0, 0)))
    return (p[:-2] + p[1:-1] + p[2:]) / 3


def joined(x):  # the same, from rows moved up and down
    zeros = jnp.zeros_like(x[:1])
    up, down = [x[1:], zeros], [zeros, x[:-1]]
    return (jnp.concatenate(up) + x + jnp.concatenate(down)) / 3


def experts(tokens, dispatch, weights):  # f32[8, 32, 16]: 32 on each device
    def at_home(x):
        return lax.with_sharding_constraint(x, P("x"))

    # dispatch f32[8, 32, 8, 4]: is this token the expert's first, second …?
    there = at_home(jnp.einsum("gtec,gtd->egcd", dispatch, tokens))
    done = at_home(jnp.einsum("egcd,edh->egch", there, weights))
    return at_home(jnp.einsum("gtec,egch->gth", dispatch, done))


def product(x, w):
    return x @ w


def large(n, dtype):
    cut = ((n, n), dtype, P("x", None)), ((n, n), dtype, P(None, "x"))
    return product, cut, P(None, "x")


ROWS = (((64, 16), "float32", P("x")),)
SHAPES = (8, 32, 16), (8, 32, 8, 4), (8, 16, 64)  # tokens, dispatch, weights
PROGRAMS = {
    "convolved": (convolved, ROWS, P("x")),
    "padded": (padded, ROWS, P("x")),
    "joined": (joined, ROWS, P("x")),
    "experts": (experts, [(s, "float32", P("x")) for s in SHAPES], P("x")),
    "product, bf16[1024²]": large(1024, "bfloat16"),
    "product, bf16[8192²]": large(8192, "bfloat16"),
    "product, f32[8192²]": large(8192, "float32"),
}


def compiled(name, mesh):
    """The text of a program of PROGRAMS, compiled for the mesh's devices."""
    f, arrays, out = PROGRAMS[name]
    arguments = [
        jax.ShapeDtypeStruct(s, d, sharding=NamedSharding(mesh, spec))
        for s, d, spec in arrays
    ]
    with jax.set_mesh(mesh):
        jitted = jax.jit(f, out_shardings=NamedSharding(mesh, out))
        return jitted.lower(*arguments).compile().as_text() or ""
