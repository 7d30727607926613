"""The mesh: by hand, in part by hand, in the types, and around the program."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax
from jax.sharding import AxisType, Mesh
from shaped import array, batch, weights


def manual(mesh):
    """shard_map over all axes."""

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P(None, "model")), out_specs=P("data", "model"))
    def layer(x, w):
        return x @ w

    return layer, (batch(mesh), weights(mesh))


def manual_in_part(mesh):
    """shard_map over "data"; "model" is left to the compiler."""

    @partial(jax.shard_map, mesh=mesh, axis_names={"data"}, in_specs=(P("data"), P()), out_specs=P())
    def total(x, w):
        return lax.psum((x @ w).sum(0), "data")

    return jax.jit(total), (batch(mesh), weights(mesh))


def ring(mesh):
    """ppermute around "model" while the parts are multiplied."""

    def step(x, w):
        def body(i, state):
            total, x = state
            total = total + x @ w
            return total, lax.ppermute(x, "model", [(0, 1), (1, 0)])

        start = lax.pcast(jnp.zeros((x.shape[0], w.shape[1])), ("data", "model"), to="varying")
        return lax.fori_loop(0, 2, body, (start, x))[0]

    specs = P("data", "model"), P("model", None)
    mapped = jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=P(("data", "model")))
    return jax.jit(mapped), (array(mesh, (128, 256), *specs[0]), array(mesh, (256, 512), *specs[1]))


def exchanged(mesh):
    """all_to_all, reduce-scatter, all_gather, and the number of the device."""

    def step(x):
        x = lax.all_to_all(x, "model", 1, 0, tiled=True)
        x = lax.psum_scatter(x, "data", tiled=True)
        return lax.all_gather(x * lax.axis_index("model"), "data", tiled=True)

    mapped = jax.shard_map(step, mesh=mesh, in_specs=P("data"), out_specs=P("model"), check_vma=False)
    return jax.jit(mapped), (batch(mesh),)


def constrained(mesh):
    """with_sharding_constraint in the middle."""

    def step(x, w):
        y = lax.with_sharding_constraint(x @ w, NamedSharding(mesh, P("data", "model")))
        return lax.with_sharding_constraint(y, NamedSharding(mesh, P()))

    return jax.jit(step), (batch(mesh), weights(mesh))


def explicit(mesh):
    """The same devices with Explicit axes: shardings are types."""
    mesh = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Explicit,) * 2)

    def layer(x, w):
        return jnp.einsum("bd,df->bf", x, w, out_sharding=NamedSharding(mesh, P("data", "model")))

    return jax.jit(layer), (batch(mesh), weights(mesh))


def set_for_good(mesh):
    """jax.set_mesh(mesh) in the program: specs without a mesh."""
    jax.set_mesh(mesh)

    def layer(x, w):
        return lax.with_sharding_constraint(x @ w, P("data", "model"))

    return jax.jit(layer), (batch(mesh), weights(mesh))


def set_for_a_while(mesh):
    """`with jax.set_mesh(mesh): return …`: it has ended when the function is traced."""
    with jax.set_mesh(mesh):
        step = jax.jit(lambda x, w: lax.with_sharding_constraint(x @ w, P("data", "model")))
        return step, (batch(mesh), weights(mesh))


def set_inside(mesh):
    """The function itself takes the abstract mesh for its own."""

    def layer(x, w):
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            return lax.with_sharding_constraint(x @ w, P("data", "model"))

    return jax.jit(layer), (batch(mesh), weights(mesh))


def key_after_set_mesh(mesh):
    """A key that is made while the mesh is set."""
    jax.set_mesh(mesh)
    return jax.jit(lambda x, key: x + jax.random.normal(key, x.shape)), (batch(mesh), jax.random.key(0))


def zeros_after_set_mesh(mesh):
    """Zeros that are made while the mesh is set."""
    jax.set_mesh(mesh)
    return jax.jit(lambda x, b: x + b), (batch(mesh), jnp.zeros(256))


def constant_after_set_mesh(mesh):
    """A table that the function closes over, made while the mesh is set."""
    jax.set_mesh(mesh)
    table = jnp.arange(256.0) * 2
    return jax.jit(lambda x: x + table), (batch(mesh),)


def put_on_the_mesh(mesh):
    """An array that is put on devices that are not there."""
    x = jax.device_put(jnp.zeros((128, 256)), NamedSharding(mesh, P("data")))
    return jax.jit(lambda x: x * 2), (x,)


def made_on_the_mesh(mesh):
    """Parameters that a program makes on devices that are not there."""
    w = jax.jit(lambda: jnp.zeros((256, 512)), out_shardings=NamedSharding(mesh, P(None, "model")))()
    return jax.jit(lambda x, w: x @ w), (batch(mesh), w)


def shapes_of_what_is_made(mesh):
    """The same as people can: eval_shape of a jit with out_shardings."""
    init = jax.jit(lambda: jnp.zeros((256, 512)), out_shardings=NamedSharding(mesh, P(None, "model")))
    return jax.jit(lambda x, w: x @ w), (batch(mesh), jax.eval_shape(init))


def compiled_inside(mesh):
    """The program asks the compiler how weights are best stored, before it says what it is."""
    from jax.experimental.layout import Format, Layout

    chosen = Format(Layout.AUTO, NamedSharding(mesh, P(None, "model")))
    step = jax.jit(lambda x, w: x @ w, in_shardings=(NamedSharding(mesh, P("data")), chosen))
    shapes = batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32)
    (_, form), _ = step.lower(*shapes).compile().input_formats
    return jax.jit(lambda x, w: x @ w), (batch(mesh), jax.ShapeDtypeStruct((256, 512), jnp.float32, sharding=form))


def own_mesh(mesh):
    """A mesh of the devices that JAX finds here, whatever is given: it asks for eight."""
    own = jax.make_mesh((8,), ("data",), devices=jax.devices("cpu"))
    return jax.jit(lambda x: x * 2), (array(own, (128, 256), "data"),)


def asked_of_the_device(mesh):
    """What the device is called decides what is computed."""
    device = mesh.devices.flat[0]
    fast = jnp.bfloat16 if device.platform == "tpu" and "TPU" in device.device_kind else jnp.float32
    return jax.jit(lambda x, w: x @ w), (batch(mesh, fast), weights(mesh, fast))


def reordered(mesh):
    """The devices in another order, under other names."""
    other = Mesh(mesh.devices.reshape(-1)[::-1].reshape(4), ("all",))
    return jax.jit(lambda x: x.sum(0)), (array(other, (128, 256), "all"),)
