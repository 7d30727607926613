"""What JAX would take from an environment, by its own detectors, in a child.

JAX has no public way to ask; `initialize` itself would go on and connect. So
the child asks the class that `initialize` asks, in jax._src.clusters.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from minipod.processes import free_port

FORCE_TPU = "JAX_FORCE_TPU_INIT"
KEEP = ("PATH", "HOME", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR")
CHILD = """
import json, os, sys
from jax._src import clusters

kinds = clusters.ClusterEnv._cluster_types
order = [
    (k.name or k.__name__, k.opt_in_only_method)
    for k in kinds
    if not k.__subclasses__()
]
ask = clusters.ClusterEnv.auto_detect_unset_distributed_params
names = "coordinator_address", "num_processes", "process_id", "local_device_ids"
before, answers = dict(os.environ), []
for variables in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(before | variables)
    kind = next(
        (k for k in kinds if not k.opt_in_only_method and k.is_env_present()),
        None,
    )
    try:
        said = dict(zip(names, ask(None, None, None, None, None, 10)))
    except RuntimeError as error:  # JAX 0.12 asks mpi4py about Open MPI 5
        said = dict.fromkeys(names) | {"error": str(error)}
    answers.append({"detector": kind and kind.name} | said)
print(json.dumps([order, answers]))
"""
# What launchers leave in the environment of process 5 of 8, on two hosts.
# Recorded ones stand in launched.json; these are the same, shortened.
MADE_UP: dict[str, dict[str, str]] = {
    "srun": {
        "SLURM_JOB_ID": "4711",
        "SLURM_STEP_NODELIST": "node[01-02]",
        "SLURM_NTASKS": "8",
        "SLURM_PROCID": "5",
        "SLURM_LOCALID": "1",
    },
    "the batch script": {
        "SLURM_JOB_ID": "4711",
        "SLURM_NTASKS": "8",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
    },
    "Open MPI 4": {
        "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1:34911",
        "OMPI_COMM_WORLD_SIZE": "8",
        "OMPI_COMM_WORLD_RANK": "5",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    },
    "Open MPI 5": {
        "OMPI_COMM_WORLD_SIZE": "8",
        "OMPI_COMM_WORLD_RANK": "5",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    },
    "GKE, TPU": {
        FORCE_TPU: "1",  # for this page: there is no TPU here
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_WORKER_HOSTNAMES": ",".join(["localhost"] * 8),
        "TPU_WORKER_ID": "5",
        "MEGASCALE_COORDINATOR_ADDRESS": "localhost",
        "MEGASCALE_NUM_SLICES": "1",
        "MEGASCALE_SLICE_ID": "0",
    },
    "by hand": {},
}

# What mpirun's helper passes on in a Slurm job, on the second of two hosts:
# srun started it alone. A long test looks whether it is still so.
HELPER = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_NODELIST": "node02",
    "SLURM_NTASKS": "1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}


def asked(*each: dict[str, str]) -> list[dict[str, object]]:
    """What a bare `initialize()` would use in processes with these variables.

    A process begins with them when JAX decides whether it is on a TPU VM, so
    those that say so are asked in a child of their own.
    """
    found: dict[int, dict[str, object]] = {}
    for on_tpu in (False, True):
        mine = [i for i, e in enumerate(each) if (FORCE_TPU in e) == on_tpu]
        if mine:
            env = {FORCE_TPU: "1"} if on_tpu else {}
            answers = _child([each[i] for i in mine], env)[1]
            found |= dict(zip(mine, answers, strict=True))
    return [found[i] for i in range(len(each))]


def order() -> list[tuple[str, bool]]:
    """JAX's detectors in turn: name, whether only on request."""
    return [(name, opt_in) for name, opt_in in _child([], {})[0]]


def _child(each: list[dict[str, str]], variables: dict[str, str]) -> list:
    env = {k: os.environ[k] for k in KEEP if k in os.environ}
    env |= {"JAX_PLATFORMS": "cpu"} | variables
    command = [sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(each)]
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def started(
    program: str, variables: dict[str, str], *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of this lesson with these variables, its output in pipes.

    A coordinator that it starts listens on this machine alone.
    """
    port = str(free_port())
    env = {k: os.environ[k] for k in KEEP if k in os.environ}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_COORDINATOR_PORT": port}
    env |= {"JAX_COORDINATOR_BIND_ADDRESS": f"127.0.0.1:{port}"} | variables
    command = [sys.executable, *options, str(Path(__file__).parent / program)]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120
    )
