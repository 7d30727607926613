from collections.abc import Callable


# what: (1) believes that --ntasks is the number of processes on each node + (2) believes that srun's --unbuffered makes Python print at once, so leaves Python's own buffer on.
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

srun --unbuffered --kill-on-bad-exit=1 python {program}
"""
    return submit(text)


# what: (1) believes that Slurm, which owns the machines, is asked before Open MPI + (2) believes that SLURM_JOB_ID alone shows that srun has started the process.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    def number(name, default):
        return int(environ.get(name, default))

    if environ.get("SLURM_JOB_ID"):
        return "slurm", number("SLURM_PROCID", 0), number("SLURM_NTASKS", 1)
    if environ.get("OMPI_MCA_orte_hnp_uri"):
        rank = number("OMPI_COMM_WORLD_RANK", 0)
        return "ompi", rank, number("OMPI_COMM_WORLD_SIZE", 1)
    workers = environ.get("TPU_PROCESS_ADDRESSES", environ.get("TPU_WORKER_HOSTNAMES"))
    if workers is not None:
        return "gketpu", number("TPU_WORKER_ID", 0), len(workers.split(","))
    return None
