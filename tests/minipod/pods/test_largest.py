"""What takes most memory, the likeliest cause first."""

import jax
import jax.numpy as jnp

from minipod.pods import largest


def test_values_stand_before_the_arguments_that_are_smaller_than_their_share():
    x, b = jax.ShapeDtypeStruct((1024,), jnp.float32), jax.ShapeDtypeStruct((100,), jnp.float32)
    traced = jax.jit(lambda x, b: (x[:, None] + x).sum() + b).trace(x, b)
    found = largest.values((x, b), traced.jaxpr, 8)
    sizes = [(each["bytes"], each["whole"]) for each in found["largest"]]
    assert found["arguments"] == 4 * 1124
    assert sizes == [(4 * 1024**2, True), (4 * 1024, False), (4 * 100, False)]
