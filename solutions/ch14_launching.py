"""Solutions of ch14_launching."""

from collections import Counter
from collections.abc import Callable


def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    return submit(f"""\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH --time={minutes}
srun --kill-on-bad-exit=1 python -u {program}
""")


def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    every = list(range(gpus))
    parts = [[gpu] for gpu in every] if a_gpu_each else [every]
    places = [(host, part) for host in hosts for part in parts]
    return [
        {
            "host": host,
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": len(places),
            "process_id": number,
            "local_device_ids": part,
        }
        for number, (host, part) in enumerate(places)
    ]


def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    slurm = ("JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID")
    if "OMPI_MCA_orte_hnp_uri" in environ:
        rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        return "ompi", int(environ[rank]), int(environ[size])
    if all(f"SLURM_{name}" in environ for name in slurm):
        rank, size = "SLURM_PROCID", "SLURM_NTASKS"
        return "slurm", int(environ[rank]), int(environ[size])
    for name in ("TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"):
        if name in environ:
            workers = environ[name].split(",")
            return "gketpu", int(environ["TPU_WORKER_ID"]), len(workers)
    return None


def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    by_id = {r["process_id"]: r for r in reports}
    counted = Counter(r["process_id"] for r in reports)

    def unlike_zero(key):
        zero = by_id.get(0, {}).get(key)
        return {i for i, r in by_id.items() if r[key] != zero}

    said = {r["process_id"] for r in reports if r["num_processes"] != expected}
    found = {
        "count": said,
        "twice": {i for i, n in counted.items() if n > 1},
        "missing": set(range(expected)) - set(by_id),
        "coordinator": unlike_zero("coordinator_address"),
        "devices": unlike_zero("devices"),
    }
    return next(((w, sorted(i)) for w, i in found.items() if i), ("fine", []))
