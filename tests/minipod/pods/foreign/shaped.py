"""What the programs of this folder share: arrays that are not there, and a layer to use them."""

import jax
import jax.numpy as jnp
from jax import NamedSharding, P


def array(mesh, shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def batch(mesh, dtype=jnp.float32):
    """Rows of 256 values, cut along "data"."""
    return array(mesh, (128, 256), "data", dtype=dtype)


def weights(mesh, dtype=jnp.float32):
    """256 x 512, cut along "model"."""
    return array(mesh, (256, 512), None, "model", dtype=dtype)
