"""Transformations of functions, and the choice between two of them."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, export, lax
from jax.experimental.custom_partitioning import custom_partitioning
from shaped import array, batch, weights


def custom_vjp(mesh):
    """A gradient of one's own."""

    @jax.custom_vjp
    def clipped(x):
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -1, 1),))
    return jax.jit(jax.grad(lambda w, x: clipped(x @ w).sum())), (weights(mesh), batch(mesh))


def custom_jvp(mesh):
    """A derivative of one's own."""

    @jax.custom_jvp
    def safe_log(x):
        return jnp.log(x)

    safe_log.defjvp(lambda x, d: (safe_log(x[0]), d[0] / jnp.maximum(x[0], 1e-6)))
    return jax.jit(jax.grad(lambda x: safe_log(x).sum())), (batch(mesh),)


def cond(mesh):
    """One of two products, which an argument chooses."""

    def step(which, x, w):
        return lax.cond(which > 0, lambda: x @ w, lambda: (x * 2) @ w)

    return jax.jit(step), (array(mesh, (), dtype=jnp.int32), batch(mesh), weights(mesh))


def switch(mesh):
    """One of three functions."""

    def step(which, x):
        return lax.switch(which, [jnp.sin, jnp.cos, lambda x: x], x)

    return jax.jit(step), (array(mesh, (), dtype=jnp.int32), batch(mesh))


def mapped(mesh):
    """vmap of a gradient: one for each example."""

    def loss(w, x):
        return jnp.tanh(x @ w).sum()

    return jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0))), (array(mesh, (256, 64)), batch(mesh))


def hessian_product(mesh):
    """Forward over reverse."""

    def loss(w, x):
        return jnp.tanh(x @ w).sum()

    def product(w, x, v):
        return jax.jvp(lambda w: jax.grad(loss)(w, x), (w,), (v,))[1]

    return jax.jit(product), (weights(mesh), batch(mesh), weights(mesh))


def several_results(mesh):
    """value_and_grad with has_aux: a tree of results."""

    def loss(p, x):
        y = x @ p["w"]
        return (y**2).mean(), {"largest": y.max(), "nothing": None}

    return jax.jit(jax.value_and_grad(loss, has_aux=True)), ({"w": weights(mesh)}, batch(mesh))


def jit_in_jit(mesh):
    """A jit that donates, within another."""
    inner = jax.jit(lambda w, g: w - g, donate_argnums=0)
    return jax.jit(lambda w, g: inner(w * 2, g)), (weights(mesh), weights(mesh))


def inlined(mesh):
    """jit(inline=True), named scopes, an optimization barrier."""

    def step(x, w):
        with jax.named_scope("layer"):
            x, w = lax.optimization_barrier((x, w))
            return jax.jit(jnp.matmul, inline=True)(x, w)

    return jax.jit(step), (batch(mesh), weights(mesh))


def own_partitioning(mesh):
    """custom_partitioning: Python that XLA calls while it compiles."""

    @custom_partitioning
    def doubled(x):
        return x * 2

    def partition(mesh, arguments, result):
        place = arguments[0].sharding
        return mesh, lambda x: x * 2, place, (place,)

    doubled.def_partition(
        infer_sharding_from_operands=lambda mesh, arguments, result: arguments[0].sharding,
        partition=partition,
        sharding_rule="i j -> i j",
    )
    return jax.jit(lambda x: doubled(x) + 1), (batch(mesh),)


def shape_polymorphism(mesh):
    """A number of rows that is a letter: nothing can be compiled."""
    (rows,) = export.symbolic_shape("b")
    x = jax.ShapeDtypeStruct((rows, 256), jnp.float32, sharding=NamedSharding(mesh, P()))
    return jax.jit(lambda x: x * 2), (x,)


def wrong_shapes(mesh):
    """A product of what does not fit together: JAX's own words."""
    return jax.jit(lambda x, w: x @ w), (batch(mesh), array(mesh, (128, 512)))
