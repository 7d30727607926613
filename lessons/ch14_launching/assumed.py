"""Prints, as one line of JSON, what the launcher says of this process, and what
`jax.distributed.initialize()` makes of it: who it is, and which of the
host's visible GPUs it will ask for (null: all of them)."""

import json
import os
import socket

import jax
from jax._src.distributed import global_state  # JAX has no public way to ask

from minipod.cluster import launch_arguments

SHOWN = (
    "SLURM_JOB_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "OMPI_MCA_orte_hnp_uri",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "CUDA_VISIBLE_DEVICES",
    "JAX_LOCAL_DEVICE_IDS",
)

if __name__ == "__main__":
    jax.distributed.initialize(**launch_arguments())
    asked = jax.config.read("jax_cuda_visible_devices")
    numbers = None if asked == "all" else list(map(int, asked.split(",")))
    found = {
        "process": global_state.process_id,
        "host": socket.gethostname(),
        "variables": {n: os.environ[n] for n in SHOWN if n in os.environ},
        "coordinator_address": global_state.coordinator_address,
        "num_processes": global_state.num_processes,
        "process_id": global_state.process_id,
        "local_device_ids": numbers,
    }
    print(json.dumps(found), flush=True)
