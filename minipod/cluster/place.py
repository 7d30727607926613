"""Find this process's number and the number of processes, asking the launchers in the same order as JAX."""

import os
from collections.abc import Mapping
from typing import NamedTuple

# (launcher, how many processes, which one this is); our own goes before all others, as its programs do
OWN = ("minipod run", "MINIPOD_PROCESSES", "MINIPOD_PROCESS")
LAUNCHERS = (
    ("Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
# without which JAX finds no step of Slurm
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID")


class Place(NamedTuple):
    """The place of a process in its cluster.

    processes  number of processes (MPI's world size)
    index      number of this process, counted from 0 (MPI's rank)
    """

    processes: int
    index: int


class TwoLaunchers(ValueError):
    """Raised if two launchers disagree about this process; the message names them."""


def places(env: Mapping[str, str] = os.environ) -> dict[str, Place]:
    """Return this process's place by launcher, for each launcher that says it has started several processes."""
    result = {}
    for launcher, size, rank in LAUNCHERS:
        processes, index = env.get(size, ""), env.get(rank, "")
        if processes.isdecimal() and index.isdecimal() and int(processes) > 1:
            result[launcher] = Place(int(processes), int(index))
    return result


def place(env: Mapping[str, str] = os.environ) -> Place:
    """Return this process's place in its cluster; Place(1, 0) outside a cluster.

    Raises TwoLaunchers if two launchers disagree, such as MPI started in a step of Slurm: JAX would believe one.
    """
    name, size, rank = OWN
    if size in env and rank in env:
        return Place(int(env[size]), int(env[rank]))
    known = places(env)
    if len(set(known.values())) > 1:
        raise TwoLaunchers(conflict(known))
    return next(iter(known.values()), Place(1, 0))


def missed_launcher(env: Mapping[str, str] = os.environ) -> str:
    """Return why JAX finds no cluster although there seems to be one, and what to do; "" if nothing looks like one.

    Call it if `jax.distributed.initialize` finds no cluster, before the program goes on as a single process: if a
    launcher has started several processes, each of them would do so.
    """
    if "OMPI_COMM_WORLD_SIZE" in env or "PMI_SIZE" in env or "PMIX_RANK" in env:
        return (
            "JAX needs mpi4py to detect MPI here: `pip install mpi4py`, then "
            'jax.distributed.initialize(cluster_detection_method="mpi4py")'
        )
    if "SLURM_JOB_ID" in env:
        if "SLURM_STEP_NODELIST" in env and (lacking := [name for name in SLURM if name not in env]):
            return f"JAX cannot detect this step of a Slurm job without {', '.join(lacking)}"
        return "this process is in a Slurm job, but not in one of its steps: start the program with `srun`"
    if address := env.get("JAX_COORDINATOR_ADDRESS"):
        return (
            f"JAX_COORDINATOR_ADDRESS={address} is not enough: also pass num_processes and process_id to "
            "jax.distributed.initialize"
        )
    if env.get("WORLD_SIZE", "1") not in ("", "1"):
        return (
            f"JAX does not read WORLD_SIZE={env['WORLD_SIZE']}: pass coordinator_address, num_processes and process_id "
            "to jax.distributed.initialize"
        )
    if "KUBERNETES_SERVICE_HOST" in env:
        return (
            "JAX finds other pods of this Kubernetes job only after `pip install 'jax[k8s]'`; if there are none, "
            "`unset KUBERNETES_SERVICE_HOST`"
        )
    return ""


def conflict(found: Mapping[str, Place]) -> str:
    """Return the launchers and what each says, as in `Open MPI (process 1 of 2), Slurm (process 0 of 4)`."""
    return ", ".join(f"{name} (process {place.index} of {place.processes})" for name, place in found.items())
