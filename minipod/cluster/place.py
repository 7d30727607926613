"""Which of how many processes this one is, as the launcher says that started it, in the order in which JAX asks."""

import os
from collections.abc import Mapping

# (launcher, how many processes, which one this is); our own goes before all others, as its programs do
OWN = ("minipod run", "MINIPOD_PROCESSES", "MINIPOD_PROCESS")
LAUNCHERS = (
    ("Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)


class TwoLaunchers(ValueError):
    """Two launchers say different things of this process; the message names them."""


def places(env: Mapping[str, str] = os.environ) -> dict[str, tuple[int, int]]:
    """For each launcher that says it started several processes: (how many, which one this is)."""
    said = {name: (env.get(size, ""), env.get(rank, "")) for name, size, rank in LAUNCHERS}
    return {n: (int(s), int(r)) for n, (s, r) in said.items() if s.isdecimal() and r.isdecimal() and int(s) > 1}


def place(env: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """(processes of the cluster that this process belongs to, its own number in it); (1, 0) outside any.

    Raises TwoLaunchers where MPI was started in a step of Slurm, or the other way round: JAX would believe the first.
    """
    name, size, rank = OWN
    if size in env and rank in env:
        return int(env[size]), int(env[rank])
    found = places(env)
    if len(set(found.values())) > 1:
        raise TwoLaunchers(told(found))
    return next(iter(found.values()), (1, 0))


def told(found: Mapping[str, tuple[int, int]]) -> str:
    """`Open MPI (process 1 of 2), Slurm (process 0 of 4)`."""
    return ", ".join(f"{name} (process {rank} of {size})" for name, (size, rank) in found.items())
