import os
import sys

import jax

address = sys.argv[1]
jax.distributed.initialize(
    coordinator_address=address,  # process 0's host, and a free port there
    num_processes=2,
    process_id=int(os.environ["MINIPOD_PROCESS"]),  # 0 here, 1 there
    coordinator_bind_address=address,  # default: every network interface
    local_device_ids=None,  # on GPUs: which of this host's are mine
)
print("process", jax.process_index(), "sees", jax.device_count(), "devices")
