"""Programs for `minipod plan` as people write them, each with something that an earlier plan stumbled over."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax
from jax.experimental import pallas as pl
from jax.experimental.layout import Format, Layout
from jax.experimental.pallas import tpu as pltpu


def array(mesh, shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def batch(mesh, dtype=jnp.float32):
    """Rows of 256 values, cut along "data"."""
    return array(mesh, (128, 256), "data", dtype=dtype)


def weights(mesh, dtype=jnp.float32):
    """256 x 512, cut along "model"."""
    return array(mesh, (256, 512), None, "model", dtype=dtype)


# Arguments


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


# Meshes


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
    return jax.jit(lambda x: x * 2), (array(own, (128, 256), "data"),)


def compiled_inside(mesh):
    """The program asks the compiler how weights are best stored, before it says what it is."""
    chosen = Format(Layout.AUTO, NamedSharding(mesh, P(None, "model")))
    step = jax.jit(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P("data")), chosen))
    shapes = batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32)
    (_, form), _ = step.lower(*shapes).compile().input_formats
    return jax.jit(lambda x, w: x @ w), (batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=form))


# Memories


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


def argument_too_large(mesh):
    """32 GiB on each chip are an argument, and nothing else is."""
    return jax.jit(lambda x: x.sum()), (array(mesh, (16, 2**30), dtype=jnp.bfloat16),)


# Operations of the compiler's own, and what it refuses


def cholesky(mesh):
    """A call of the compiler's own."""
    return jax.jit(jnp.linalg.cholesky), (array(mesh, (8, 128, 128), "data"),)


# Kernels


def too_large_for_vmem(mesh):
    """Scratch that no fast memory holds: 256 MiB."""

    def kernel(x, y, scratch):
        scratch[:8, :128] = x[...]
        y[...] = scratch[:8, :128]

    def step(x):
        return pl.pallas_call(kernel, out_shape=x, scratch_shapes=[pltpu.VMEM((8192, 8192), jnp.float32)])(x)

    mapped = jax.shard_map(step, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    return jax.jit(mapped), (array(mesh, (8, 128)),)


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
    return jax.jit(mapped), (array(mesh, (256, 1024), *spec),)


def splash(mesh):
    """Splash attention, whose names and options stand in several lines of the compiled text."""
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask

    mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((1024, 1024)) for _ in range(4)])
    with jax.ensure_compile_time_eval():
        kernel = splash_attention_kernel.make_splash_mha_single_device(mask)
    heads = P("data", "model")
    mapped = jax.shard_map(jax.vmap(kernel), mesh=mesh, in_specs=(heads,) * 3, out_specs=heads, check_vma=False)
    return jax.jit(mapped), (array(mesh, (4, 8, 1024, 128), *heads, dtype=jnp.bfloat16),) * 3
