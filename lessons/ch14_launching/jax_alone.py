import os

import jax

# without minipod: what JAX does by itself, only sooner than after 300 seconds
patience = int(os.environ["JAX_INITIALIZATION"])
jax.distributed.initialize(initialization_timeout=patience)
print("I am process", jax.process_index(), "of", jax.process_count())
