import jax

from minipod.expect import expect_error

print(jax.device_count(), "devices")  # this line starts JAX, alone

with expect_error(RuntimeError, "before any JAX"):
    jax.distributed.initialize()
