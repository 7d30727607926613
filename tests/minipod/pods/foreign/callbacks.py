"""Programs that call back into Python, and options for the compiler."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import P, lax
from jax.experimental import checkify, io_callback
from shaped import batch, weights


def debug_print(mesh):
    """jax.debug.print of a sum over all devices."""

    def step(x, w):
        y = x @ w
        jax.debug.print("sum {}", y.sum())
        return y

    return jax.jit(step), (batch(mesh), weights(mesh))


def debug_print_in_a_loop(mesh):
    """jax.debug.print in each pass of a scan."""

    def body(x, i):
        jax.debug.print("pass {i}: {s}", i=i, s=x.sum())
        return x * 2, None

    return jax.jit(lambda x: lax.scan(body, x, jnp.arange(4))[0]), (batch(mesh),)


def debug_print_partitioned(mesh):
    """Each device prints its part."""

    def step(x):
        jax.debug.print("part {}", x.sum(), partitioned=True)
        return x * 2

    return jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data")), (batch(mesh),)


def debug_callback(mesh):
    """A function of Python that is told a value."""

    def step(x):
        jax.debug.callback(lambda loss: None, x.mean())
        return x + 1

    return jax.jit(step), (batch(mesh),)


def pure_callback(mesh):
    """A function of NumPy in the middle of a program."""

    def step(x):
        s = jax.pure_callback(np.sqrt, jax.ShapeDtypeStruct((), jnp.float32), x.sum())
        return x / s

    return jax.jit(step), (batch(mesh),)


def io_callback_mapped(mesh):
    """A function with an effect, in shard_map."""

    def step(x):
        io_callback(lambda v: None, None, x.sum())
        return x + 1

    return jax.jit(jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data"))), (batch(mesh),)


def io_callback_result(mesh):
    """io_callback that gives something back."""

    def step(x):
        return x + io_callback(lambda: np.float32(1), jax.ShapeDtypeStruct((), jnp.float32))

    return jax.jit(step), (batch(mesh),)


def checked(mesh):
    """checkify: errors are values of the program."""

    def step(x):
        checkify.check(x.sum() > 0, "the sum is {}", x.sum())
        return jnp.log(x)

    return jax.jit(checkify.checkify(step)), (batch(mesh),)


def checked_for_nan(mesh):
    """checkify with all checks of floats."""
    return jax.jit(checkify.checkify(lambda x: jnp.sqrt(x) / x, errors=checkify.float_checks)), (batch(mesh),)


def compiler_options(mesh):
    """A flag of XLA at the jit."""
    step = jax.jit(lambda x, w: x @ w, compiler_options={"xla_tpu_scoped_vmem_limit_kib": "65536"})
    return step, (batch(mesh), weights(mesh))


def compiler_options_inside(mesh):
    """A flag of XLA at a jit that is not the outermost: JAX refuses it."""
    inner = jax.jit(lambda x: x * 2, compiler_options={"xla_tpu_scoped_vmem_limit_kib": "65536"})
    return jax.jit(lambda x: inner(x) + 1), (batch(mesh),)
