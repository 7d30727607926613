from collections.abc import Callable


# what: Asks for one node's processes in all + lets Python buffer its prints.
def sbatch_file(
    program: str,
    nodes: int,
    a_node: int,
    minutes: int,
    submit: Callable[[str], dict],
) -> dict:
    return submit(f"""#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks={a_node}
#SBATCH --time={minutes}
srun --kill-on-bad-exit=1 python {program}
""")


# what: Always counts hosts as processes + a bare GPU number, not a list.
def arguments_by_hand(hosts: list[str], gpus: int, a_gpu_each: bool, port: int) -> list[dict]:
    if a_gpu_each:
        parts = [(host, gpu) for host in hosts for gpu in range(gpus)]
    else:
        parts = [(host, list(range(gpus))) for host in hosts]
    return [
        {
            "host": host,
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": len(hosts),
            "process_id": i,
            "local_device_ids": own,
        }
        for i, (host, own) in enumerate(parts)
    ]


# what: Asks Slurm's detector first + SLURM_PROCID alone is enough for it.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    if "SLURM_PROCID" in environ:
        who = int(environ["SLURM_PROCID"])
        return "slurm", who, int(environ["SLURM_NTASKS"])
    if "OMPI_MCA_orte_hnp_uri" in environ:
        rank, size = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        return "ompi", int(environ[rank]), int(environ[size])
    for name in "TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES":
        if name in environ:
            who = environ.get("CLOUD_TPU_TASK_ID") or environ["TPU_WORKER_ID"]
            return "gketpu", int(who), len(environ[name].split(","))
    return None


# what: Looks for gaps below the largest id only + wants the most devices.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    ids = [r["process_id"] for r in reports]

    def those(wrong):
        return sorted({r["process_id"] for r in reports if wrong(r)})

    if found := those(lambda r: r["num_processes"] != expected):
        return "count", found
    if found := those(lambda r: ids.count(r["process_id"]) > 1):
        return "twice", found
    if found := sorted(set(range(max(ids))) - set(ids)):
        return "missing", found
    address = reports[ids.index(0)]["coordinator_address"]
    if found := those(lambda r: r["coordinator_address"] != address):
        return "coordinator", found
    most = max(r["devices"] for r in reports)
    if found := those(lambda r: r["devices"] != most):
        return "devices", found
    return "fine", []
