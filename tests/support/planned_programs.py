"""Programs for `minipod plan` as people write them, each with something special, or with a mistake."""

import importlib
import os
import sys
import time
import types

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax
from jax.experimental import mesh_utils
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

    options = {"xla_tpu_scoped_vmem_limit_kib": "65536"}
    return (
        jax.jit(f, static_argnums=1, compiler_options=options),
        (array(mesh, (64, 8), "data"), "tanh", 3.0, AT_IMPORT),
        {"bias": array(mesh, (8,))},
    )


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


def its_own_mesh_too_large():
    """2 x 32 GiB a chip, on a mesh that stands in the jit alone."""
    devices = mesh_utils.create_device_mesh((jax.device_count(),))
    mesh = jax.sharding.Mesh(devices, ("rows",))
    rows = jax.ShapeDtypeStruct((4, 2**17, 2**16), jnp.float32)
    return jax.jit(jnp.tanh, in_shardings=NamedSharding(mesh, P("rows"))), (rows,)


def set_inside(mesh):
    """A key is made here, although the mesh is set; and the `with` has ended when this is traced."""
    with jax.set_mesh(mesh):
        key = jax.random.key(0)

    def f(key):
        return jax.lax.with_sharding_constraint(jax.random.normal(key, (64, 64)), P("data"))

    return jax.jit(f), (key,)


def explicit(mesh):
    return (lambda x, w: jnp.dot(x, w, out_sharding=P("data"))), (
        array(mesh, (8, 16), "data", "model"),
        array(mesh, (16, 8), "model"),
    )


def on_the_host(mesh):
    """2 KiB a device stay in the host's memory."""
    return jax.jit(lambda x: jax.device_put(x, jax.memory.Space.Device) + 1), (
        array(mesh, (8, 256), "data", "model", dtype=jnp.float32, kind="pinned_host"),
    )


def as_on_a_tpu(mesh):
    """A kernel, where JAX's answer is tpu; what is taken elsewhere is planned by nobody."""

    def kernel(x, out):
        out[...] = x[...] * 2

    def doubled(x):
        return pl.pallas_call(kernel, out_shape=x, interpret=not ON_TPU)(x)

    mapped = jax.shard_map(doubled, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    return mapped, (array(mesh, (16, 128), "data", dtype=jnp.float32),)


def too_much_vmem(mesh):
    def kernel(x, out, scratch):
        scratch[...] = x[...] * 2
        out[...] = scratch[...]

    def doubled(x):
        scratch = [pltpu.VMEM((2048, 2048), jnp.float32)]
        return pl.pallas_call(kernel, out_shape=x, scratch_shapes=scratch, name="doubled")(x)

    mapped = jax.shard_map(doubled, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    return mapped, (array(mesh, (2048, 2048), dtype=jnp.float32),)


def sorted_pairs(mesh):
    """32 GiB in one value of the program, and a small argument."""

    def f(x):
        return jnp.sort(x[:, None] * x[None, :], axis=0).sum()

    return f, (array(mesh, (1 << 17,)),)


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


def batch(mesh, dtype=jnp.float32):
    """Rows of 256 values, cut along "data"."""
    return array(mesh, (128, 256), "data", dtype=dtype)


def weights(mesh, dtype=jnp.float32):
    """256 x 512, cut along "model"."""
    return array(mesh, (256, 512), None, "model", dtype=dtype)


def refs_as_arguments(mesh):
    """Parameters that the program writes into."""

    def update(w, g):
        w[...] -= 0.1 * g

    w = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=NamedSharding(mesh, P(None, "model")), is_ref=True)
    return jax.jit(update), (w, weights(mesh))


def int4(mesh):
    """A product of integers of four bits."""
    step = jax.jit(lambda x, w: jnp.dot(x, w, preferred_element_type=jnp.int32))
    return step, (batch(mesh, jnp.int4), weights(mesh, jnp.int4))


def constant_after_set_mesh(mesh):
    """A table that the function closes over, made while the mesh is set: JAX's own way fails, a plan need not."""
    jax.set_mesh(mesh)
    table = jnp.arange(256.0) * 2
    return jax.jit(lambda x: x + table), (batch(mesh),)


def made_on_the_mesh(mesh):
    """Parameters that a program makes on devices that are not there."""
    w = jax.jit(lambda: jnp.zeros((256, 512)), out_shardings=NamedSharding(mesh, P(None, "model")))()
    return jax.jit(lambda x, w: x @ w), (batch(mesh), w)


def own_mesh(mesh):
    """A mesh of the devices that JAX finds here, whatever is given: it asks for eight."""
    own = jax.make_mesh((8,), ("data",), devices=jax.devices("cpu"))
    return jax.jit(lambda x: x * 2), (batch(own),)


def compiled_inside(mesh):
    """The program asks the compiler how weights are best stored, before it says what it is."""
    chosen = Format(Layout.AUTO, NamedSharding(mesh, P(None, "model")))
    step = jax.jit(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P("data")), chosen))
    shapes = batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32)
    (_, form), _ = step.lower(*shapes).compile().input_formats
    return jax.jit(lambda x, w: x @ w), (batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=form))


def format_of_an_argument(mesh):
    """An argument that is stored with its first axis fastest."""
    form = Format(Layout(major_to_minor=(1, 0)), NamedSharding(mesh, P("data")))
    return jax.jit(lambda x, w: x @ w), (jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=form), weights(mesh))


def pinned_state(mesh):
    """Moments of an optimizer that live on the host, and are donated."""
    host, chip = (NamedSharding(mesh, P(None, "model"), memory_kind=kind) for kind in ("pinned_host", "device"))

    def update(w, m, g):
        m = 0.9 * jax.device_put(m, chip) + g
        return w - 0.1 * m, jax.device_put(m, host)

    m = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=host)
    return jax.jit(update, donate_argnums=(0, 1), out_shardings=(chip, host)), (weights(mesh), m, weights(mesh))


def cholesky(mesh):
    """A call of the compiler's own."""
    return jax.jit(jnp.linalg.cholesky), (array(mesh, (8, 128, 128), "data", dtype=jnp.float32),)


def too_large_for_vmem(mesh):
    """Scratch that no fast memory holds: 256 MiB."""

    def kernel(x, y, scratch):
        scratch[:8, :128] = x[...]
        y[...] = scratch[:8, :128]

    def step(x):
        return pl.pallas_call(kernel, out_shape=x, scratch_shapes=[pltpu.VMEM((8192, 8192), jnp.float32)])(x)

    mapped = jax.shard_map(step, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    return jax.jit(mapped), (array(mesh, (8, 128), dtype=jnp.float32),)


def remote_copy(mesh):
    """A kernel that sends its part to the neighbour along "model"."""

    def send(x_ref, y_ref, sent, received):
        other = 1 - lax.axis_index("model")
        here = lax.axis_index("data")
        copy = pltpu.make_async_remote_copy(
            x_ref, y_ref, sent, received, device_id=(here, other), device_id_type=pltpu.DeviceIdType.MESH
        )
        copy.start()
        copy.wait()

    def step(x):
        return pl.pallas_call(
            send,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec(memory_space=pl.ANY),
            scratch_shapes=[pltpu.SemaphoreType.DMA] * 2,
        )(x)

    spec = P("data", "model")
    mapped = jax.shard_map(step, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    return jax.jit(mapped), (array(mesh, (256, 1024), *spec, dtype=jnp.float32),)


def splash(mesh):
    """Splash attention, whose names and options stand in several lines of the compiled text."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask

    mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((1024, 1024)) for _ in range(4)])
    with jax.ensure_compile_time_eval():
        kernel = splash_attention_kernel.make_splash_mha_single_device(mask)
    heads = P("data", "model")
    mapped = jax.shard_map(jax.vmap(kernel), mesh=mesh, in_specs=(heads,) * 3, out_specs=heads, check_vma=False)
    return jax.jit(mapped), (array(mesh, (4, 8, 1024, 128), *heads, dtype=jnp.bfloat16),) * 3
