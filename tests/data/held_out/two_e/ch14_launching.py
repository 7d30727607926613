from collections.abc import Callable


# what: (1) --ntasks counts the processes of one node + (2) set -e in the script ends the other processes when one fails, so srun needs no option for it.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    text = f"""#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks={a_node}
#SBATCH --time={minutes}

set -e
srun --unbuffered python -u {program}
"""
    return submit(text)


# what: (1) Slurm is asked before Open MPI, since it is the outer launcher + (2) Open MPI is there as soon as its rank and size are in the environment.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    slurm = (
        "SLURM_JOB_ID",
        "SLURM_STEP_NODELIST",
        "SLURM_NTASKS",
        "SLURM_PROCID",
        "SLURM_LOCALID",
        "SLURM_STEP_NUM_NODES",
    )
    if all(name in environ for name in slurm):
        return "slurm", int(environ["SLURM_PROCID"]), int(environ["SLURM_NTASKS"])
    if "OMPI_COMM_WORLD_RANK" in environ and "OMPI_COMM_WORLD_SIZE" in environ:
        rank = int(environ["OMPI_COMM_WORLD_RANK"])
        return "ompi", rank, int(environ["OMPI_COMM_WORLD_SIZE"])
    workers = environ.get("TPU_PROCESS_ADDRESSES")
    if workers is None:
        workers = environ.get("TPU_WORKER_HOSTNAMES")
    if workers is not None and "TPU_WORKER_ID" in environ:
        return "gketpu", int(environ["TPU_WORKER_ID"]), len(workers.split(","))
    return None
