import os

import jax

jax.distributed.initialize(
    coordinator_address="127.0.0.1:5000",  # on each host, the host itself
    num_processes=2,
    process_id=int(os.environ["MINIPOD_PROCESS"]),
    initialization_timeout=2,
)
print("process", jax.process_index(), "has joined")
