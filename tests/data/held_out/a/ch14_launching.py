from collections import Counter
from collections.abc import Callable


# what: Writes the limit as hours:minutes, which Slurm reads minutes:seconds.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    lines = [
        "#!/bin/bash",
        f"#SBATCH --nodes={nodes}",
        f"#SBATCH --ntasks-per-node={a_node}",
        f"#SBATCH --time={minutes // 60}:{minutes % 60:02}",
        f"srun --kill-on-bad-exit=1 python -u {program}",
    ]
    return submit("\n".join(lines) + "\n")


# what: Numbers the GPUs through all hosts, not as each host counts them.
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    on = [(host, h * gpus + g) for h, host in enumerate(hosts) for g in range(gpus)]
    if a_gpu_each:
        parts = [(host, [gpu]) for host, gpu in on]
    else:
        parts = [(host, [gpu for other, gpu in on if other == host]) for host in hosts]
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


# what: Knows Open MPI by its rank, which Open MPI 5 sets, too.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "OMPI_COMM_WORLD_RANK" in environ:
        rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        return "ompi", int(environ[rank]), int(environ[size])
    names = "JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID"
    if all(f"SLURM_{name}" in environ for name in names):
        who = int(environ["SLURM_PROCID"])
        return "slurm", who, int(environ["SLURM_NTASKS"])
    for name in "TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES":
        if name in environ:
            who = environ.get("CLOUD_TPU_TASK_ID") or environ["TPU_WORKER_ID"]
            return "gketpu", int(who), len(environ[name].split(","))
    return None


# what: Takes what most processes have for right, and not what process 0 has.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    ids = [r["process_id"] for r in reports]

    def unlike_most(key):
        most = Counter(r[key] for r in reports).most_common(1)[0][0]
        return {r["process_id"] for r in reports if r[key] != most}

    told = {r["process_id"] for r in reports if r["num_processes"] != expected}
    checks = {
        "count": told,
        "twice": {i for i in ids if ids.count(i) > 1},
        "missing": set(range(expected)) - set(ids),
        "coordinator": unlike_most("coordinator_address"),
        "devices": unlike_most("devices"),
    }
    for word, found in checks.items():
        if found:
            return word, sorted(found)
    return "fine", []
