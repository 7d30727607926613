import shlex
from collections import Counter
from collections.abc import Callable


# what: writes the limit as hours:minutes, which Slurm reads as minutes:seconds
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    hours, rest = divmod(minutes, 60)
    lines = [
        "#!/bin/bash",
        f"#SBATCH --nodes={nodes}",
        f"#SBATCH --ntasks-per-node={a_node}",
        f"#SBATCH --time={hours:02d}:{rest:02d}",
        "",
        f"srun --kill-on-bad-exit=1 --unbuffered python -u {shlex.quote(program)}",
        "",
    ]
    return submit("\n".join(lines))


# what: a process with one GPU sees only that one and so counts it as 0
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    groups = [[0]] * gpus if a_gpu_each else [list(range(gpus))]
    processes = []
    for host in hosts:
        for group in groups:
            processes.append(
                {
                    "host": host,
                    "coordinator_address": f"{hosts[0]}:{port}",
                    "num_processes": len(hosts) * len(groups),
                    "process_id": len(processes),
                    "local_device_ids": list(group),
                }
            )
    return processes


# what: Slurm is there if job, rank and size are set; a batch script outside of srun has these as well
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    slurm = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS")
    if all(name in environ for name in slurm):
        return (
            "slurm",
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
        )
    workers = environ.get("TPU_PROCESS_ADDRESSES", environ.get("TPU_WORKER_HOSTNAMES"))
    if workers is not None:
        return "gketpu", int(environ["TPU_WORKER_ID"]), len(workers.split(","))
    return None


# what: lists an id once for each process, although two with the same id may both have been told wrong
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    ids = [report["process_id"] for report in reports]
    wrong = [report["process_id"] for report in reports if report["num_processes"] != expected]
    if wrong:
        return "count", sorted(wrong)
    twice = [number for number, times in Counter(ids).items() if times > 1]
    if twice:
        return "twice", sorted(twice)
    missing = [number for number in range(expected) if number not in ids]
    if missing:
        return "missing", missing
    first = next((r for r in reports if r["process_id"] == 0), None)
    for word, entry in (
        ("coordinator", "coordinator_address"),
        ("devices", "devices"),
    ):
        others = [r["process_id"] for r in reports if r[entry] != first[entry]]
        if others:
            return word, sorted(others)
    return "fine", []
