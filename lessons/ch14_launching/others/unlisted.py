"""Wrong answers of ch14_launching that nobody listed: each must be called wrong."""


def sbatch_file__not_handed_in(program, nodes, a_node, minutes, submit):
    return f"#!/bin/bash\n#SBATCH -N{nodes}\nsrun -K1 python -u {program}\n"


def sbatch_file__no_time_and_bare(program, nodes, a_node, minutes, submit):
    return submit(
        f"#!/bin/bash\n#SBATCH -N{nodes} -n{nodes * a_node}\nsrun python {program}\n"
    )


def sbatch_file__another_program(program, nodes, a_node, minutes, submit):
    return submit(
        f"#!/bin/bash\n#SBATCH -N{nodes} -n{nodes * a_node} -t {minutes}\nsrun -K1 python -u main.py\n"
    )


def sbatch_file__no_node(program, nodes, a_node, minutes, submit):
    return submit(
        f"#!/bin/bash\n#SBATCH -n{a_node} -t {minutes}\nsrun -K1 python -u {program}\n"
    )


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
    return [
        {k: v for k, v in row.items() if k != "host"}
        for row in _rows(hosts, gpus, a_gpu_each, port)
    ]


def arguments_by_hand__first_process_only(hosts, gpus, a_gpu_each, port):
    return _rows(hosts, gpus, a_gpu_each, port)[0]


def arguments_by_hand__backwards(hosts, gpus, a_gpu_each, port):
    return _rows(hosts, gpus, a_gpu_each, port)[::-1]


def arguments_by_hand__an_int(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [
        row | {"local_device_ids": row["local_device_ids"][0]} for row in rows
    ]


def arguments_by_hand__from_one(hosts, gpus, a_gpu_each, port):
    return [
        row | {"process_id": row["process_id"] + 1}
        for row in _rows(hosts, gpus, a_gpu_each, port)
    ]


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


def what_is_wrong__only_the_word(reports, expected):
    return "fine" if len(reports) == expected else "missing"


def what_is_wrong__a_set(reports, expected):
    ids = {r["process_id"] for r in reports}
    return "missing", set(range(expected)) - ids


def what_is_wrong__always_fine(reports, expected):
    return "fine", []
