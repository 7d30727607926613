"""What people give a program for arguments, besides ShapeDtypeStructs with a NamedSharding."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import NamedSharding, P
from shaped import array, batch, weights


def python_int(mesh):
    """A number of Python among the arguments."""
    return jax.jit(lambda x, n: x * n), (batch(mesh), 3)


def python_float(mesh):
    """A learning rate, as people write it."""
    return jax.jit(lambda w, g, rate: w - rate * g), (weights(mesh), weights(mesh), 1e-3)


def python_bool(mesh):
    """A truth value that is traced."""
    return jax.jit(lambda x, train: jnp.where(train, x * 2, x)), (batch(mesh), True)


def not_jitted(mesh):
    """A plain function with a number of Python among the arguments."""
    return (lambda x, n: x + n), (batch(mesh), 2)


def static_number(mesh):
    """static_argnums: the last argument is a part of the program."""
    return jax.jit(lambda x, w, n: (x @ w)[:, :n], static_argnums=2), (batch(mesh), weights(mesh), 16)


def static_string(mesh):
    """static_argnames: the name of a function."""

    def layer(x, w, activation):
        return getattr(jax.nn, activation)(x @ w)

    return jax.jit(layer, static_argnames="activation"), (batch(mesh), weights(mesh), "gelu")


def static_first(mesh):
    """A configuration before the arrays, hashed by what it says."""

    @dataclass(frozen=True)
    class Config:
        scale: float

    return jax.jit(lambda c, x: x * c.scale, static_argnums=0), (Config(0.5), batch(mesh))


def numpy_array(mesh):
    """An array of NumPy, as a table of positions often is."""
    return jax.jit(lambda x, table: x + table), (batch(mesh), np.arange(256, dtype=np.float32))


def numpy_number(mesh):
    """A number of NumPy, which has a type of its own."""
    return jax.jit(lambda x, n: x * n), (batch(mesh), np.float32(2))


def array_of_this_machine(mesh):
    """An array that exists, on the CPU of this machine."""
    return jax.jit(lambda x, table: x + table), (batch(mesh), jnp.arange(256.0))


def raw_key(mesh):
    """A key of the old kind, made here."""
    return jax.jit(lambda x, key: x + jax.random.normal(key, x.shape)), (batch(mesh), jax.random.PRNGKey(0))


def typed_key(mesh):
    """A key of the new kind, made here."""
    return jax.jit(lambda x, key: x + jax.random.normal(key, x.shape)), (batch(mesh), jax.random.key(0))


def shaped_key(mesh):
    """A key that is only described, and is returned."""

    def step(x, key):
        key, mine = jax.random.split(key)
        return x + jax.random.normal(mine, x.shape), key

    return jax.jit(step), (batch(mesh), array(mesh, (), dtype=jax.random.key(0).dtype))


def shaped_rbg_key(mesh):
    """A key of the kind that is quick on a TPU."""
    key = array(mesh, (), dtype=jax.random.key(0, impl="rbg").dtype)
    return jax.jit(lambda x, key: x * jax.random.bernoulli(key, 0.9, x.shape)), (batch(mesh), key)


def without_sharding(mesh):
    """One argument that is only a shape."""
    return jax.jit(lambda x, b: x + b), (batch(mesh), jax.ShapeDtypeStruct((256,), jnp.float32))


def said_by_the_jit(mesh):
    """jit(in_shardings=…), and arguments that are only shapes: the form of most trainers."""
    cut = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model"))
    step = jax.jit(lambda x, w: x @ w, in_shardings=cut, out_shardings=NamedSharding(mesh, P("data", "model")))
    return step, (jax.ShapeDtypeStruct((128, 256), jnp.float32), jax.ShapeDtypeStruct((256, 512), jnp.float32))


def none_leaf(mesh):
    """No bias, and a tree that says so."""

    def layer(x, p):
        y = x @ p["w"]
        return y if p["b"] is None else y + p["b"]

    return jax.jit(layer), (batch(mesh), {"w": weights(mesh), "b": None})


def partially(mesh):
    """functools.partial, with a number in it."""
    return partial(lambda scale, x: x * scale, 0.5), (batch(mesh),)


def bound_method(mesh):
    """The method of an object."""

    class Model:
        scale = 0.5

        def __call__(self, x, w):
            return (x @ w) * self.scale

    return Model().__call__, (batch(mesh), weights(mesh))


def keywords(mesh):
    """Arguments by name, as the third thing that is returned."""
    return jax.jit(lambda x, *, w, scale: (x @ w) * scale), (batch(mesh),), {"w": weights(mesh), "scale": 0.5}


def donated_dataclass(mesh):
    """A state that is a dataclass, and is updated in place."""

    @partial(jax.tree_util.register_dataclass, data_fields=["w", "step"], meta_fields=["rate"])
    @dataclass
    class State:
        w: jax.Array
        step: jax.Array
        rate: float

    def update(state, g):
        return State(state.w - state.rate * g, state.step + 1, state.rate)

    state = State(weights(mesh), array(mesh, (), dtype=jnp.int32), 0.1)
    return jax.jit(update, donate_argnums=0), (state, weights(mesh))


def donated_by_name(mesh):
    """donate_argnames."""
    return jax.jit(lambda w, g: w - g, donate_argnames="w"), (weights(mesh), weights(mesh))


def refs_as_arguments(mesh):
    """Parameters that the program writes into."""

    def update(w, g):
        w[...] -= 0.1 * g

    w = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=NamedSharding(mesh, P(None, "model")), is_ref=True)
    return jax.jit(update), (w, weights(mesh))


def refs_inside(mesh):
    """A Ref that no caller sees."""

    def total(x):
        ref = jax.new_ref(jnp.zeros(256))
        jax.lax.fori_loop(0, 4, lambda i, _: ref.__setitem__(..., ref[...] + x[i]), None)
        return ref[...]

    return jax.jit(total), (batch(mesh),)


def unused(mesh):
    """An argument that nothing reads: JAX leaves it out."""
    return jax.jit(lambda x, w: x * 2), (batch(mesh), weights(mesh))


def unused_and_kept(mesh):
    """The same with keep_unused."""
    return jax.jit(lambda x, w: x * 2, keep_unused=True), (batch(mesh), weights(mesh))
