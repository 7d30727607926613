import jax

jax.distributed.initialize()
visible = jax.config.read("jax_cuda_visible_devices")
print("of this host's GPUs JAX takes:", visible)
