from collections import Counter
from collections.abc import Callable


# what: Gives sbatch an option that only srun has.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    return submit(f"""#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH --time={minutes}
#SBATCH --kill-on-bad-exit=1
srun python -u {program}
""")


# what: Numbers round the hosts, one GPU of each, and not host after host.
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    if a_gpu_each:
        parts = [(host, [gpu]) for gpu in range(gpus) for host in hosts]
    else:
        parts = [(host, list(range(gpus))) for host in hosts]
    return [
        {
            "host": host,
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": len(parts),
            "process_id": i,
            "local_device_ids": own,
        }
        for i, (host, own) in enumerate(parts)
    ]


# what: Hands the numbers back as the strings that the variables hold.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "OMPI_MCA_orte_hnp_uri" in environ:
        rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        return "ompi", environ[rank], environ[size]
    names = "JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID"
    if all(f"SLURM_{name}" in environ for name in names):
        return "slurm", environ["SLURM_PROCID"], environ["SLURM_NTASKS"]
    for name in "TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES":
        if name in environ:
            who = environ.get("CLOUD_TPU_TASK_ID") or environ["TPU_WORKER_ID"]
            return "gketpu", who, str(len(environ[name].split(",")))
    return None


# what: Lists the ids as the reports come: not ascending, some repeated.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    times = Counter(r["process_id"] for r in reports)
    ids = [r["process_id"] for r in reports if r["num_processes"] != expected]
    if ids:
        return "count", ids
    if ids := [i for i, n in times.items() if n > 1]:
        return "twice", ids
    if ids := [i for i in range(expected) if i not in times]:
        return "missing", ids
    zero = next(r for r in reports if r["process_id"] == 0)
    for word, key in (
        ("coordinator", "coordinator_address"),
        ("devices", "devices"),
    ):
        ids = [r["process_id"] for r in reports if r[key] != zero[key]]
        if ids:
            return word, ids
    return "fine", []
