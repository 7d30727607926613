import jax
from jax._src.xla_bridge import CUDA_VISIBLE_DEVICES  # no public way to read

jax.distributed.initialize()
print("of this host's GPUs JAX takes:", CUDA_VISIBLE_DEVICES.value)
