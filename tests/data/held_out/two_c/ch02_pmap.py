from collections.abc import Callable  # noqa: F401

import jax
import jax.numpy as jnp


# what: averages the means of the devices that have real entries + takes padding for zeros and adds it up, too
def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    def part(row, real):
        count = jnp.sum(real)
        some = (count > 0).astype(x.dtype)
        mean = jnp.sum(row) / jnp.maximum(count, 1)
        both = jax.lax.psum(jnp.stack([mean * some, some]), "devices")
        return both[0] / both[1]

    return jax.pmap(part, axis_name="devices", out_axes=None)(x, mask)
