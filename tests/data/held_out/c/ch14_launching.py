import shlex
from collections import Counter
from collections.abc import Callable


# what: writes the time as hours:minutes, which Slurm reads as minutes:seconds
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    text = f"""#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH --time={minutes // 60:02d}:{minutes % 60:02d}

srun --kill-on-bad-exit=1 python -u {shlex.quote(program)}
"""
    return submit(text)


# what: believes that a process with one GPU counts it as 0, whichever of the host's it is
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    places = []
    for host in hosts:
        if a_gpu_each:
            places += [(host, [0]) for _ in range(gpus)]
        else:
            places.append((host, list(range(gpus))))
    return [
        {
            "host": host,
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": len(places),
            "process_id": number,
            "local_device_ids": ids,
        }
        for number, (host, ids) in enumerate(places)
    ]


# what: takes Slurm for present in a batch script, too, outside of any step of srun
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    if all(name in environ for name in ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS")):
        return "slurm", int(environ["SLURM_PROCID"]), int(environ["SLURM_NTASKS"])
    names = environ.get("TPU_PROCESS_ADDRESSES")
    if names is None:
        names = environ.get("TPU_WORKER_HOSTNAMES")
    if names is not None:
        return "gketpu", int(environ["TPU_WORKER_ID"]), len(names.split(","))
    return None


# what: lists an id once for each report, not once
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    ids = [report["process_id"] for report in reports]
    wrong = sorted(report["process_id"] for report in reports if report["num_processes"] != expected)
    if wrong:
        return "count", wrong
    twice = sorted(number for number in ids if Counter(ids)[number] > 1)
    if twice:
        return "twice", twice
    missing = [number for number in range(expected) if number not in ids]
    if missing:
        return "missing", missing
    first = next((r for r in reports if r["process_id"] == 0), None)
    if first is None:
        return "fine", []
    for word, name in (("coordinator", "coordinator_address"), ("devices", "devices")):
        others = sorted(r["process_id"] for r in reports if r[name] != first[name])
        if others:
            return word, others
    return "fine", []
