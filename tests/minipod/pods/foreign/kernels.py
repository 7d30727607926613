"""Pallas kernels of our own: with a cost and without, over links, interpreted, and too large."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import P, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from shaped import array


def _multiply(x_ref, w_ref, y_ref):
    y_ref[...] = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)


def _product(x, w, block=256, **options):
    """A kernel that takes all of the inner axis at once."""
    (rows, inner), columns = x.shape, w.shape[1]
    return pl.pallas_call(
        _multiply,
        grid=(rows // block, columns // block),
        in_specs=[
            pl.BlockSpec((block, inner), lambda i, j: (i, 0)),
            pl.BlockSpec((inner, block), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((block, block), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.float32),
        **options,
    )(x, w)


def _mapped(mesh, product, rows=1024, inner=1024):
    specs = P("data", None), P(None, "model")
    mapped = jax.shard_map(product, mesh=mesh, in_specs=specs, out_specs=P("data", "model"), check_vma=False)
    shapes = (rows, inner), (inner, 1024)
    return jax.jit(mapped), tuple(array(mesh, s, *p, dtype=jnp.bfloat16) for s, p in zip(shapes, specs, strict=True))


def product(mesh):
    """A product that does not say what it costs."""
    return _mapped(mesh, _product)


def product_with_cost(mesh):
    """A product that says what it costs."""
    cost = pl.CostEstimate(flops=2 * 512 * 1024 * 512, bytes_accessed=2**22, transcendentals=0)
    return _mapped(mesh, partial(_product, cost_estimate=cost))


def product_in_a_scan(mesh):
    """The kernel four times, in a loop, with a product of XLA beside it."""

    def layers(x, w):
        return lax.scan(lambda t, _: (t + _product(x, w) + x @ w, None), jnp.zeros((512, 512)), None, 4)[0]

    return _mapped(mesh, layers)


def product_without_map(mesh):
    """The kernel outside shard_map: XLA cannot cut it."""
    x = array(mesh, (1024, 1024), "data", dtype=jnp.bfloat16)
    return jax.jit(_product), (x, array(mesh, (1024, 1024), None, "model", dtype=jnp.bfloat16))


def product_on_all_devices(mesh):
    """The kernel outside shard_map, on what every device has."""
    x = array(mesh, (1024, 1024), dtype=jnp.bfloat16)
    return jax.jit(_product), (x, x)


def interpreted(mesh):
    """`interpret` where there is no TPU, as many write it."""
    return _mapped(mesh, partial(_product, interpret=jax.default_backend() != "tpu"))


def too_large_for_vmem(mesh):
    """Blocks that no fast memory holds: 128 MiB for one of them."""
    return _mapped(mesh, partial(_product, block=512), rows=2048, inner=131072)


def more_vmem(mesh):
    """40 MiB of fast memory, and the option that gives them."""
    options = pltpu.CompilerParams(vmem_limit_bytes=100 * 2**20)
    return _mapped(mesh, partial(_product, block=512, compiler_params=options), rows=1024, inner=10240)


def too_little_vmem(mesh):
    """The same without that option."""
    return _mapped(mesh, partial(_product, block=512), rows=1024, inner=10240)


def in_place(mesh):
    """A kernel whose result takes the place of its argument."""

    def double(x_ref, y_ref):
        y_ref[...] = x_ref[...] * 2

    def step(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(double, out_shape=shape, input_output_aliases={0: 0})(x)

    mapped = jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    return jax.jit(mapped, donate_argnums=0), (array(mesh, (256, 512), "data"),)


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


def printed(mesh):
    """A kernel that prints, for debugging."""

    def double(x_ref, y_ref):
        pl.debug_print("a block")
        y_ref[...] = x_ref[...] * 2

    def step(x):
        return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    mapped = jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    return jax.jit(mapped), (array(mesh, (256, 512), "data"),)
