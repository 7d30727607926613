from collections import Counter
from collections.abc import Callable


# what: Believes that Slurm reads --time=HH:MM as hours and minutes, where it reads minutes and seconds.
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
        f"srun --kill-on-bad-exit=1 python -u {program}",
        "",
    ]
    return submit("\n".join(lines))


# what: Believes that a process with one GPU sees only that one, so that its local id is always 0.
def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    a_host = gpus if a_gpu_each else 1
    arguments = []
    for host in hosts:
        for _ in range(a_host):
            arguments.append(
                {
                    "host": host,
                    "coordinator_address": f"{hosts[0]}:{port}",
                    "num_processes": len(hosts) * a_host,
                    "process_id": len(arguments),
                    "local_device_ids": [0] if a_gpu_each else list(range(gpus)),
                }
            )
    return arguments


# what: Believes that SLURM_JOB_ID alone shows that Slurm's srun has started the process, though a shell inside of an allocation has it, too.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    if "SLURM_JOB_ID" in environ:
        return (
            "slurm",
            int(environ.get("SLURM_PROCID", 0)),
            int(environ.get("SLURM_NTASKS", 1)),
        )
    for name in ("TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"):
        if name in environ:
            workers = environ[name].split(",")
            return "gketpu", int(environ.get("TPU_WORKER_ID", 0)), len(workers)
    return None


# what: Believes that what most processes say is right, and compares with the majority instead of with process 0.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    def ids_where(test):
        return sorted({r["process_id"] for r in reports if test(r)})

    count = ids_where(lambda r: r["num_processes"] != expected)
    if count:
        return "count", count
    seen = Counter(r["process_id"] for r in reports)
    twice = sorted(i for i, times in seen.items() if times > 1)
    if twice:
        return "twice", twice
    missing = [i for i in range(expected) if i not in seen]
    if missing:
        return "missing", missing
    for word, field in (("coordinator", "coordinator_address"), ("devices", "devices")):
        usual = Counter(r[field] for r in reports).most_common(1)[0][0]
        odd = ids_where(lambda r: r[field] != usual)
        if odd:
            return word, odd
    return "fine", []
