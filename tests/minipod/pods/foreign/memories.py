"""Layouts, the memory of the host, and what does not fit on the chip."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P
from jax.experimental.compute_on import compute_on
from jax.experimental.layout import Format, Layout
from shaped import array, batch, weights


def format_of_an_argument(mesh):
    """An argument that is stored with its first axis fastest."""
    form = Format(Layout(major_to_minor=(1, 0)), NamedSharding(mesh, P("data")))
    return jax.jit(lambda x, w: x @ w), (jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=form), weights(mesh))


def format_of_the_result(mesh):
    """A result that is stored with its first axis fastest."""
    form = Format(Layout(major_to_minor=(1, 0)), NamedSharding(mesh, P("data")))
    return jax.jit(lambda x: x * 2, out_shardings=form), (batch(mesh),)


def format_automatic(mesh):
    """The compiler chooses how the weights are stored."""
    chosen = Format(Layout.AUTO, NamedSharding(mesh, P(None, "model")))
    step = jax.jit(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P("data")), chosen))
    return step, (batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32))


def pinned_argument(mesh):
    """An argument in the memory of the host."""
    host = NamedSharding(mesh, P("data"), memory_kind="pinned_host")

    def step(x):
        return jax.device_put(x, NamedSharding(mesh, P("data"))) * 2

    return jax.jit(step), (jax.ShapeDtypeStruct((256, 256), jnp.float32, sharding=host),)


def pinned_result(mesh):
    """A result in the memory of the host."""
    host = NamedSharding(mesh, P("data"), memory_kind="pinned_host")
    return jax.jit(lambda x: x * 2, out_shardings=host), (batch(mesh),)


def pinned_state(mesh):
    """Moments of an optimizer that live on the host, and are donated."""
    host, chip = (NamedSharding(mesh, P(None, "model"), memory_kind=kind) for kind in ("pinned_host", "device"))

    def update(w, m, g):
        m = 0.9 * jax.device_put(m, chip) + g
        return w - 0.1 * m, jax.device_put(m, host)

    m = jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=host)
    return jax.jit(update, donate_argnums=(0, 1), out_shardings=(chip, host)), (weights(mesh), m, weights(mesh))


def put_on_the_host(mesh):
    """jax.memory.Space.Host and back."""

    def step(x):
        y = jax.device_put(jnp.sin(x), jax.memory.Space.Host)
        return jax.device_put(y, jax.memory.Space.Device) + x

    return jax.jit(step), (array(mesh, (4096, 1024), "data"),)


def offloaded(mesh):
    """Activations that go to the host between forward and backward: a policy of remat."""
    from jax.ad_checkpoint import checkpoint_name

    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )

    def loss(ws, x):
        @partial(jax.checkpoint, policy=policy)
        def layer(x, w):
            return jnp.sin(checkpoint_name(x @ w, "hidden")), None

        return jax.lax.scan(layer, x, ws)[0].sum()

    ws = array(mesh, (4, 1024, 1024), None, None, "model")
    return jax.jit(jax.grad(loss)), (ws, array(mesh, (4096, 1024), "data"))


def computed_on_the_host(mesh):
    """compute_on("device_host")."""

    def step(x):
        with compute_on("device_host"):
            y = jnp.sin(x) * 2
        return y + 1

    return jax.jit(step), (batch(mesh),)


def too_large(mesh):
    """40 GiB of arguments on each chip, and as much of results."""
    return jax.jit(lambda x: x * 2), (array(mesh, (40, 2**30), "data", dtype=jnp.bfloat16),)


def argument_too_large(mesh):
    """32 GiB on each chip are an argument, and nothing else is."""
    return jax.jit(lambda x: x.sum()), (array(mesh, (16, 2**30), dtype=jnp.bfloat16),)
