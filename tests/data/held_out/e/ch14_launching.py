from collections.abc import Callable


# what: --time=AA:BB means hours and minutes (Slurm reads minutes and seconds).
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
        f"srun --kill-on-bad-exit=1 --unbuffered python -u {program}",
    ]
    return submit("\n".join(lines) + "\n")


# what: a process that has one GPU sees it as number 0, whichever of the host's GPUs it is.
def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    each = gpus if a_gpu_each else 1
    result = []
    for host in hosts:
        for _ in range(each):
            result.append(
                {
                    "host": host,
                    "coordinator_address": f"{hosts[0]}:{port}",
                    "num_processes": len(hosts) * each,
                    "process_id": len(result),
                    "local_device_ids": [0] if a_gpu_each else list(range(gpus)),
                }
            )
    return result


# what: being inside a Slurm job (SLURM_JOB_ID is set) is enough, a process need not have been started by srun.
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
            int(environ.get("SLURM_PROCID", "0")),
            int(environ.get("SLURM_NTASKS", "1")),
        )
    names = environ.get("TPU_PROCESS_ADDRESSES") or environ.get(
        "TPU_WORKER_HOSTNAMES"
    )
    if names and "TPU_WORKER_ID" in environ:
        return "gketpu", int(environ["TPU_WORKER_ID"]), len(names.split(","))
    return None


# what: the right coordinator is the address that most processes were given, those in the minority are wrong.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    def ids(chosen):
        return sorted({r["process_id"] for r in chosen})

    bad = ids(r for r in reports if r["num_processes"] != expected)
    if bad:
        return "count", bad

    numbers = [r["process_id"] for r in reports]
    bad = sorted({i for i in numbers if numbers.count(i) > 1})
    if bad:
        return "twice", bad

    bad = sorted(set(range(expected)) - set(numbers))
    if bad:
        return "missing", bad

    zero = next(r for r in reports if r["process_id"] == 0)
    addresses = [r["coordinator_address"] for r in reports]
    right = max(addresses, key=addresses.count)
    bad = ids(r for r in reports if r["coordinator_address"] != right)
    if bad:
        return "coordinator", bad

    bad = ids(r for r in reports if r["devices"] != zero["devices"])
    if bad:
        return "devices", bad
    return "fine", []
