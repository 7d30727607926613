from collections import Counter
from collections.abc import Callable


# what: Thinks `set -e` in the batch script ends all processes as soon as one of them fails.
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
        f"#SBATCH --time={minutes}",
        "set -e",
        f"srun python -u {program}",
    ]
    return submit("\n".join(lines) + "\n")


# what: Thinks local_device_ids are numbers in the whole cluster, counted on from host to host.
def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    per_process = 1 if a_gpu_each else gpus
    starts = [
        (host, index * gpus + first)
        for index, host in enumerate(hosts)
        for first in range(0, gpus, per_process)
    ]
    address = f"{hosts[0]}:{port}"
    return [
        {
            "host": host,
            "coordinator_address": address,
            "num_processes": len(starts),
            "process_id": number,
            "local_device_ids": list(range(first, first + per_process)),
        }
        for number, (host, first) in enumerate(starts)
    ]


def _slurm(env):
    needed = (
        "SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID"
    )
    if all(name in env for name in needed):
        return "slurm", int(env["SLURM_PROCID"]), int(env["SLURM_NTASKS"])
    return None


def _ompi(env):
    if "OMPI_MCA_orte_hnp_uri" not in env:
        return None
    return (
        "ompi",
        int(env.get("OMPI_COMM_WORLD_RANK", 0)),
        int(env.get("OMPI_COMM_WORLD_SIZE", 1)),
    )


def _gke(env):
    workers = env.get("TPU_PROCESS_ADDRESSES") or env.get("TPU_WORKER_HOSTNAMES")
    if not workers or "TPU_SKIP_MDS_QUERY" not in env:
        return None
    return "gketpu", int(env.get("TPU_WORKER_ID", 0)), len(workers.split(","))


# what: Thinks the cluster's scheduler outranks mpirun, so that Slurm's variables are believed before Open MPI's.
def which_launcher(environ: dict[str, str]) -> tuple[str, int, int] | None:
    for detector in (_slurm, _ompi, _gke):
        found = detector(environ)
        if found is not None:
            return found
    return None


# what: Thinks the odd one out is who differs from the majority, not who differs from process 0.
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    def ids_where(test):
        return sorted({r["process_id"] for r in reports if test(r)})

    def differing(key):
        if not reports:
            return []
        usual, _ = Counter(r[key] for r in reports).most_common(1)[0]
        return ids_where(lambda r: r[key] != usual)

    seen = Counter(r["process_id"] for r in reports)
    checks = [
        ("count", ids_where(lambda r: r["num_processes"] != expected)),
        ("twice", sorted(i for i, times in seen.items() if times > 1)),
        ("missing", [i for i in range(expected) if i not in seen]),
        ("coordinator", differing("coordinator_address")),
        ("devices", differing("devices")),
    ]
    for word, ids in checks:
        if ids:
            return word, ids
    return "fine", []
