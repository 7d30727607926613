"""Right, written another way: short options, counting, a table of launchers, sets."""


def sbatch_file(program, nodes, a_node, minutes, submit):
    hours, left = divmod(minutes, 60)
    lines = [
        "#!/bin/sh",
        f"#SBATCH -N {nodes} -n {nodes * a_node}",
        f"#SBATCH -t {hours:02}:{left:02}:00",
        "",
        "set -e",
        "export PYTHONUNBUFFERED=1",
        f"srun -K1 -l python {program}",
    ]
    return submit("\n".join(lines))


def arguments_by_hand(hosts, gpus, a_gpu_each, port):
    each = gpus if a_gpu_each else 1
    n = len(hosts) * each
    found = []
    for i in range(n):
        host, local = divmod(i, each)
        ids = [local] if a_gpu_each else list(range(gpus))
        found.append(
            dict(
                host=hosts[host],
                coordinator_address=":".join((hosts[0], str(port))),
                num_processes=n,
                process_id=i,
                local_device_ids=ids,
            )
        )
    return found


RULES = [
    (
        "ompi",
        {"OMPI_MCA_orte_hnp_uri"},
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
    ),
    (
        "slurm",
        {
            "SLURM_JOB_ID",
            "SLURM_STEP_NODELIST",
            "SLURM_NTASKS",
            "SLURM_PROCID",
            "SLURM_LOCALID",
        },
        "SLURM_PROCID",
        "SLURM_NTASKS",
    ),
    (
        "gketpu",
        {"TPU_PROCESS_ADDRESSES"},
        "TPU_WORKER_ID",
        "TPU_PROCESS_ADDRESSES",
    ),
    (
        "gketpu",
        {"TPU_WORKER_HOSTNAMES"},
        "TPU_WORKER_ID",
        "TPU_WORKER_HOSTNAMES",
    ),
]


def which_launcher(environ):
    for name, needs, rank, size in RULES:
        if needs <= environ.keys():
            many = environ[size]
            count = many.count(",") + 1 if name == "gketpu" else int(many)
            return name, int(environ[rank]), count


def what_is_wrong(reports, expected):
    ids = sorted(r["process_id"] for r in reports)
    if odd := {
        r["process_id"] for r in reports if r["num_processes"] != expected
    }:
        return "count", sorted(odd)
    if again := {a for a, b in zip(ids, ids[1:], strict=False) if a == b}:
        return "twice", sorted(again)
    if lost := [i for i in range(expected) if i not in ids]:
        return "missing", lost
    zero = next(r for r in reports if r["process_id"] == 0)
    for word, key in {
        "coordinator": "coordinator_address",
        "devices": "devices",
    }.items():
        if odd := sorted(
            r["process_id"] for r in reports if r[key] != zero[key]
        ):
            return word, odd
    return "fine", []
