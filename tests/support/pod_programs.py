"""Small programs for `minipod plan`: each takes a mesh and returns (function, arguments)."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P, lax


def array(mesh, shape, *spec, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def product(mesh):
    """One matrix product with a sum over the first axis of the mesh."""
    axis = mesh.axis_names[0]

    def step(x, w):
        return lax.psum(x @ w, axis)

    specs = (P(None, axis), P(axis, None))
    mapped = jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=P())
    return mapped, (array(mesh, (512, 4096), *specs[0]), array(mesh, (4096, 1024), *specs[1]))


def donated(mesh):
    """An update in place."""

    def step(w, g):
        return {"w": w["w"] - g}

    w = array(mesh, (4096, 4096), mesh.axis_names[0])
    return jax.jit(step, donate_argnums=0), ({"w": w}, w)


def too_large(mesh):
    """40 GiB on each chip."""
    return (lambda x: x * 2), (array(mesh, (20, 2**30)),)


def no_form(mesh):
    """An operation that TPUs do not have."""
    return jnp.linalg.eigvals, (array(mesh, (8, 8), dtype=jnp.float32),)


def calls_back(mesh):
    """Prints while it runs."""

    def shown(x):
        jax.debug.print("{}", x.sum())
        return x * 2

    return shown, (array(mesh, (8, 8)),)


def no_sharding(mesh):
    return (lambda x: x), (jax.ShapeDtypeStruct((8,), jnp.float32),)


def here(mesh):
    there = jax.make_mesh((2,), ("x",), devices=jax.devices()[:2])
    return (lambda x: x), (array(there, (8,)),)


def two_meshes(mesh):
    from minipod import pods

    return (lambda x, y: x), (array(mesh, (8,)), array(pods.mesh("v6e:2x2", data=4), (8,)))


def wrong(mesh):
    return (lambda x: x @ x), (array(mesh, (3, 4)),)


def nothing(mesh):
    return None


def broken(mesh):
    raise KeyError("data")


def too_large_anywhere(mesh):
    """400 GiB on each chip."""
    return (lambda x: x * 2), (array(mesh, (200, 2**30)),)


def softmax(mesh):
    """Elementwise work on 128 MiB: XLA's own analysis counts its bytes right."""
    return (lambda x: jax.nn.softmax(x, axis=-1)), (array(mesh, (4096, 16384)),)
