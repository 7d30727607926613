"""Other answers to the exercises of ch14_launching: right ones, known mistakes, and other wrong ones."""


def sbatch_file__right(program, nodes, a_node, minutes, submit):
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


def sbatch_file__not_handed_in(program, nodes, a_node, minutes, submit):
    return f"#!/bin/bash\n#SBATCH -N{nodes}\nsrun -K1 python -u {program}\n"


def sbatch_file__another_program(program, nodes, a_node, minutes, submit):
    return submit(f"#!/bin/bash\n#SBATCH -N{nodes} -n{nodes * a_node} -t {minutes}\nsrun -K1 python -u main.py\n")


def arguments_by_hand__right(hosts, gpus, a_gpu_each, port):
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


def _rows(hosts, gpus, a_gpu_each, port):
    each = gpus if a_gpu_each else 1
    return [
        {
            "host": hosts[i // each],
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": each * len(hosts),
            "process_id": i,
            "local_device_ids": [i % each] if a_gpu_each else [*range(gpus)],
        }
        for i in range(each * len(hosts))
    ]


def arguments_by_hand__without_host(hosts, gpus, a_gpu_each, port):
    return [{k: v for k, v in row.items() if k != "host"} for row in _rows(hosts, gpus, a_gpu_each, port)]


def arguments_by_hand__backwards(hosts, gpus, a_gpu_each, port):
    return _rows(hosts, gpus, a_gpu_each, port)[::-1]


def arguments_by_hand__an_int(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [row | {"local_device_ids": row["local_device_ids"][0]} for row in rows]


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


def which_launcher__right(environ):
    for name, needs, rank, size in RULES:
        if needs <= environ.keys():
            many = environ[size]
            count = many.count(",") + 1 if name == "gketpu" else int(many)
            return name, int(environ[rank]), count


def which_launcher__only_the_name(environ):
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return "ompi"
    return "slurm" if "SLURM_STEP_NODELIST" in environ else None


def which_launcher__no_tpu(environ):
    if "OMPI_MCA_orte_hnp_uri" in environ:
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    if "SLURM_STEP_NODELIST" in environ:
        return (
            "slurm",
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
        )
    return None


def what_is_wrong__right(reports, expected):
    ids = sorted(r["process_id"] for r in reports)
    if odd := {r["process_id"] for r in reports if r["num_processes"] != expected}:
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
        if odd := sorted(r["process_id"] for r in reports if r[key] != zero[key]):
            return word, odd
    return "fine", []


def what_is_wrong__only_the_word(reports, expected):
    return "fine" if len(reports) == expected else "missing"


def what_is_wrong__always_fine(reports, expected):
    return "fine", []
