"""Programs for `minipod plan` as people write them, each with something special, or with a mistake."""

import importlib
import os
import sys
import time
import types

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.experimental import pallas as pl
from jax.experimental.layout import Format, Layout
from jax.experimental.pallas import tpu as pltpu

AT_IMPORT = jnp.ones((8, 8))  # lies on the CPU, whatever is planned
ON_TPU = jax.default_backend() == "tpu"


def array(mesh, shape, *spec, dtype=jnp.bfloat16, kind=None):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec), memory_kind=kind))


def ordinary(mesh):
    """Compiler options, a callback, a static string, a number, an array of this machine, and a keyword."""
    print("ordinary is made")

    def f(x, how, scale, y, *, bias):
        jax.debug.print("{}", x.sum())
        return getattr(jnp, how)(x @ y * scale + bias)

    jitted = jax.jit(f, static_argnums=1, compiler_options={"xla_tpu_scoped_vmem_limit_kib": "65536"})
    return jitted, (array(mesh, (64, 8), "data"), "tanh", 3.0, AT_IMPORT), {"bias": array(mesh, (8,))}


def with_a_lazy_module(mesh):
    """A module that loads what is asked of it, and cannot: its file, too."""

    class Lazy(types.ModuleType):
        def __getattribute__(self, name):
            if name == "__file__":
                raise ImportError("it is not installed")
            return super().__getattribute__(name)

    sys.modules["lazy"] = Lazy("lazy")
    return jax.jit(lambda x: x + 1), (array(mesh, (64, 8), "data"),)


def in_the_jit(mesh):
    """The layout stands in the jit alone."""
    return jax.jit(lambda x: x.T, in_shardings=NamedSharding(mesh, P("data"))), jax.ShapeDtypeStruct((8, 16), "f4")


def nowhere(mesh):
    """No argument and no jit says a layout: it is on every device whole."""
    return (lambda x: x + 1), (jax.ShapeDtypeStruct((8, 16), jnp.float32),)


def its_own_mesh():
    mesh = jax.make_mesh((jax.device_count() // 2, 2), ("rows", "columns"))
    return jax.jit(jnp.tanh), (array(mesh, (8, 16), "rows", "columns"),)


def set_inside(mesh):
    """A key is made here, although the mesh is set; and the `with` has ended when this is traced."""
    with jax.set_mesh(mesh):
        key = jax.random.key(0)
    return jax.jit(lambda key: jax.lax.with_sharding_constraint(jax.random.normal(key, (64, 64)), P("data"))), (key,)


def explicit(mesh):
    arguments = array(mesh, (8, 16), "data", "model"), array(mesh, (16, 8), "model")
    return (lambda x, w: jnp.dot(x, w, out_sharding=P("data"))), arguments


def on_the_host(mesh):
    """2 KiB a device stay in the host's memory."""
    x = array(mesh, (8, 256), "data", "model", dtype=jnp.float32, kind="pinned_host")
    return jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device) + 1), (x,)


def on_each(mesh, f, shape, *spec):
    mapped = jax.shard_map(f, mesh=mesh, in_specs=P(*spec), out_specs=P(*spec), check_vma=False)
    return mapped, (array(mesh, shape, *spec, dtype=jnp.float32),)


def as_on_a_tpu(mesh):
    """A kernel, where JAX's answer is tpu; what is taken elsewhere is planned by nobody."""

    def kernel(x, out):
        out[...] = x[...] * 2

    return on_each(mesh, lambda x: pl.pallas_call(kernel, out_shape=x, interpret=not ON_TPU)(x), (16, 128), "data")


def too_much_vmem(mesh):
    def kernel(x, out, scratch):
        scratch[...] = x[...] * 2
        out[...] = scratch[...]

    def doubled(x):
        scratch = [pltpu.VMEM((2048, 2048), jnp.float32)]
        return pl.pallas_call(kernel, out_shape=x, scratch_shapes=scratch, name="doubled")(x)

    return on_each(mesh, doubled, (2048, 2048))


def sorted_pairs(mesh):
    """32 GiB in one value of the program, and a small argument."""
    return (lambda x: jnp.sort(x[:, None] * x[None, :], axis=0).sum()), (array(mesh, (1 << 17,)),)


def put(mesh):
    return jnp.sin, (jax.device_put(jnp.ones((4, 4)), NamedSharding(mesh, P("data"))),)


def lacks_a_package(mesh):
    importlib.import_module("no_such_package")


def loud(mesh):
    print("x" * 50_000_000)
    return ordinary(mesh)


def slow(mesh):
    time.sleep(600)


def aborts(mesh):
    os.abort()


def three(mesh):
    return jnp.sin, (array(mesh, (8,)),), 3


# What JAX compiles of these, a plan has, too: tests compare the two.


def batch(mesh):
    """Rows of 256 values, cut along "data"."""
    return array(mesh, (128, 256), "data", dtype=jnp.float32)


def refs_as_arguments(mesh):
    """Parameters that the program writes into."""

    def update(w, g):
        w[...] -= 0.1 * g

    w = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=NamedSharding(mesh, P(None, "model")), is_ref=True)
    return jax.jit(update), (w, array(mesh, (256, 512), None, "model", dtype=jnp.float32))


def compiled_inside(mesh):
    """The program asks the compiler how weights are best stored, before it says what it is."""
    chosen = Format(Layout.AUTO, NamedSharding(mesh, P(None, "model")))
    step = jax.jit(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P("data")), chosen))
    shapes = batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32)
    (_, form), _ = step.lower(*shapes).compile().input_formats
    return jax.jit(lambda x, w: x @ w), (batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=form))
