import shlex
from collections import Counter
from collections.abc import Callable
from itertools import product


# what: Short options, hours:minutes:seconds, and the buffer off by variable.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    hours, rest = divmod(minutes, 60)
    return submit(f"""#!/bin/bash
#SBATCH -N {nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH -t {hours:02}:{rest:02}:00
export PYTHONUNBUFFERED=1
srun -K1 python {shlex.quote(program)}
""")


# what: Counts the processes' parts of a host, then takes a product.
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    whole = list(range(gpus))
    parts = [[gpu] for gpu in whole] if a_gpu_each else [whole]
    common = {
        "coordinator_address": f"{hosts[0]}:{port}",
        "num_processes": len(hosts) * len(parts),
    }
    return [
        common | {"host": host, "process_id": i, "local_device_ids": list(own)}
        for i, (host, own) in enumerate(product(hosts, parts))
    ]


# what: A table of what each detector needs and where its numbers stand.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    slurm = "JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID"
    needs = {
        "ompi": {"OMPI_MCA_orte_hnp_uri"},
        "slurm": {f"SLURM_{name}" for name in slurm},
    }
    numbers = {
        "ompi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        "slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
    }
    for name, needed in needs.items():
        if needed <= environ.keys():
            who, count = (int(environ[key]) for key in numbers[name])
            return name, who, count
    workers, who = environ.get("TPU_WORKER_HOSTNAMES"), "TPU_WORKER_ID"
    if "TPU_PROCESS_ADDRESSES" in environ:
        workers = environ["TPU_PROCESS_ADDRESSES"]
        if "CLOUD_TPU_TASK_ID" in environ:
            who = "CLOUD_TPU_TASK_ID"
    if workers is None:
        return None
    return "gketpu", int(environ[who]), workers.count(",") + 1


# what: Lazy checks in order, each a set; process 0 is looked up by its id.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    times = Counter(r["process_id"] for r in reports)

    def unlike(key, right):
        return {r["process_id"] for r in reports if r[key] != right}

    def unlike_zero(key):
        (zero,) = (r for r in reports if r["process_id"] == 0)
        return unlike(key, zero[key])

    checks = (
        ("count", lambda: unlike("num_processes", expected)),
        ("twice", lambda: {i for i, n in times.items() if n > 1}),
        ("missing", lambda: set(range(expected)) - times.keys()),
        ("coordinator", lambda: unlike_zero("coordinator_address")),
        ("devices", lambda: unlike_zero("devices")),
    )
    found = ((word, sorted(check())) for word, check in checks)
    return next((answer for answer in found if answer[1]), ("fine", []))
