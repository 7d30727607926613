from collections.abc import Callable


# what: (1) Thinks Slurm reads a time of two numbers as hours:minutes (it reads minutes:seconds) + (2) thinks srun passes on every printed line at once, so that Python needs no -u.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    hours, rest = divmod(minutes, 60)
    script = f"""#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH --time={hours:02d}:{rest:02d}

srun --kill-on-bad-exit=1 python {program}
"""
    return submit(script)


# what: (1) Thinks JAX asks for TPUs first, because the hardware decides + (2) thinks the process id is the process's number on its own host (the local rank).
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    def number(name, otherwise):
        return int(environ.get(name, otherwise))

    hosts = environ.get("TPU_PROCESS_ADDRESSES") or environ.get(
        "TPU_WORKER_HOSTNAMES"
    )
    if hosts and "TPU_SKIP_MDS_QUERY" in environ:
        return "gketpu", number("TPU_WORKER_ID", 0), len(hosts.split(","))
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return (
            "ompi",
            number("OMPI_COMM_WORLD_LOCAL_RANK", 0),
            number("OMPI_COMM_WORLD_SIZE", 1),
        )
    needed = {"SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID"}
    if needed <= environ.keys():
        return "slurm", number("SLURM_LOCALID", 0), number("SLURM_NTASKS", 1)
    return None
