"""Prints, as one line of JSON, where this process is according to its launcher,
and what JAX takes from that: the arguments of `initialize` that it fills in."""

import json
import os
import socket

from jax._src import clusters  # JAX has no public way to ask

from minipod.cluster.arguments import launcher

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
)

if __name__ == "__main__":
    method = "mpi4py" if launcher() == "mpi4py" else None
    detect = clusters.ClusterEnv.auto_detect_unset_distributed_params
    address, count, process, local = detect(None, None, None, None, method, 300)
    found = {
        "process": process,
        "host": socket.gethostname(),
        "variables": {n: os.environ[n] for n in SHOWN if n in os.environ},
        "coordinator_address": address,
        "num_processes": count,
        "process_id": process,
        "local_device_ids": local,
    }
    print(json.dumps(found), flush=True)
