"""Known wrong answers of ch14_launching, as code; words.toml explains them."""

from collections import Counter

HEAD = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={a_node}
#SBATCH --time={minutes}
"""


def _script(text, program, nodes, a_node, minutes):
    return text.format(
        program=program, nodes=nodes, a_node=a_node, minutes=minutes
    )


def sbatch_file__no_srun(program, nodes, a_node, minutes, submit):
    text = HEAD + "python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__minutes_as_seconds(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, f"00:{minutes}"))


def sbatch_file__minutes_as_hours(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, f"{minutes}:00:00"))


def sbatch_file__tasks_of_a_node(program, nodes, a_node, minutes, submit):
    text = HEAD.replace("ntasks-per-node", "ntasks")
    text += "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__one_a_node(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, 1, minutes))


def sbatch_file__left_running(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__buffered(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun -K1 python {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__bare(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun python {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__too_late(program, nodes, a_node, minutes, submit):
    first, rest = HEAD.split("\n", 1)
    text = first + "\nexport PYTHONUNBUFFERED=1\n" + rest
    text += "srun -K1 python {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__empty_first_line(program, nodes, a_node, minutes, submit):
    text = "\n" + HEAD + "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__a_space(program, nodes, a_node, minutes, submit):
    text = HEAD.replace("#SBATCH", "# SBATCH")
    text += "srun -K1 python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__no_time(program, nodes, a_node, minutes, submit):
    text = HEAD.replace("#SBATCH --time={minutes}\n", "")
    text += "srun -K1 timeout {minutes}m python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__in_the_background(program, nodes, a_node, minutes, submit):
    text = HEAD + "srun -K1 python -u {program} &\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def sbatch_file__option_of_srun(program, nodes, a_node, minutes, submit):
    text = HEAD + "#SBATCH --kill-on-bad-exit=1\nsrun python -u {program}\n"
    return submit(_script(text, program, nodes, a_node, minutes))


def _by_hand(hosts, gpus, a_gpu_each, port, change):
    every = list(range(gpus))
    parts = [[gpu] for gpu in every] if a_gpu_each else [every]
    rows = []
    for host in hosts:
        for part in parts:
            row = {
                "host": host,
                "coordinator_address": f"{hosts[0]}:{port}",
                "num_processes": len(hosts) * len(parts),
                "process_id": len(rows),
                "local_device_ids": part,
            }
            rows.append(row | change(row, len(rows), len(parts)))
    return rows


def arguments_by_hand__localhost(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"coordinator_address": f"localhost:{port}"}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__loopback(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"coordinator_address": f"127.0.0.1:{port}"}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__own_address(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"coordinator_address": f"{row['host']}:{port}"}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__no_port(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"coordinator_address": hosts[0]}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__local_number(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"process_id": n % each}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__number_of_a_gpu(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"process_id": n // each * gpus + row["local_device_ids"][0]}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__hosts_counted(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"num_processes": len(hosts)}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__gpus_counted(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"num_processes": len(hosts) * gpus}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__global_ids(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        first = n // each * gpus
        return {
            "local_device_ids": [first + i for i in row["local_device_ids"]]
        }

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__none_for_all(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {
            "local_device_ids": row["local_device_ids"] if each > 1 else None
        }

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__one_gpu_a_host(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {} if a_gpu_each else {"local_device_ids": [0]}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def arguments_by_hand__round_robin(hosts, gpus, a_gpu_each, port):
    rows = _by_hand(hosts, gpus, a_gpu_each, port, lambda row, n, each: {})
    each = len(rows) // len(hosts)
    turns = [rows[i::each] for i in range(each)]
    return [
        row | {"process_id": number}
        for number, row in enumerate(sum(turns, []))
    ]


def arguments_by_hand__process_id_for_gpu(hosts, gpus, a_gpu_each, port):
    def change(row, n, each):
        return {"local_device_ids": [n]} if each > 1 else {}

    return _by_hand(hosts, gpus, a_gpu_each, port, change)


def _slurm(environ, needs, rank="SLURM_PROCID", size="SLURM_NTASKS"):
    if all(f"SLURM_{name}" in environ for name in needs):
        return "slurm", int(environ[rank]), int(environ[size])
    return None


NEEDS = ("JOB_ID", "STEP_NODELIST", "NTASKS", "PROCID", "LOCALID")


def _ompi(environ, sign="OMPI_MCA_orte_hnp_uri", rank="RANK"):
    if sign not in environ:
        return None
    rank = int(environ[f"OMPI_COMM_WORLD_{rank}"])
    return "ompi", rank, int(environ["OMPI_COMM_WORLD_SIZE"])


def _tpu(environ, names=("TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES")):
    for name in names:
        if name in environ:
            workers = len(environ[name].split(","))
            return "gketpu", int(environ["TPU_WORKER_ID"]), workers
    return None


def which_launcher__slurm_first(environ):
    return _slurm(environ, NEEDS) or _ompi(environ) or _tpu(environ)


def which_launcher__tpu_first(environ):
    return _tpu(environ) or _ompi(environ) or _slurm(environ, NEEDS)


def which_launcher__batch_script(environ):
    needs = ("JOB_ID", "NTASKS", "PROCID", "LOCALID")
    return _ompi(environ) or _slurm(environ, needs) or _tpu(environ)


def which_launcher__job_is_enough(environ):
    found = _ompi(environ)
    if not found and "SLURM_JOB_ID" in environ:
        rank = int(environ.get("SLURM_PROCID", 0))
        found = "slurm", rank, int(environ["SLURM_NTASKS"])
    return found or _tpu(environ)


def which_launcher__open_mpi_5(environ):
    found = _ompi(environ, "OMPI_COMM_WORLD_RANK")
    return found or _slurm(environ, NEEDS) or _tpu(environ)


def which_launcher__local_rank(environ):
    found = _ompi(environ, rank="LOCAL_RANK")
    found = found or _slurm(environ, NEEDS, rank="SLURM_LOCALID")
    return found or _tpu(environ)


def which_launcher__nodes_counted(environ):
    found = _ompi(environ) or _slurm(environ, NEEDS, size="SLURM_NNODES")
    return found or _tpu(environ)


def which_launcher__hostnames_only(environ):
    found = _ompi(environ) or _slurm(environ, NEEDS)
    return found or _tpu(environ, ["TPU_WORKER_HOSTNAMES"])


def which_launcher__texts(environ):
    found = _ompi(environ) or _slurm(environ, NEEDS) or _tpu(environ)
    return found and (found[0], str(found[1]), str(found[2]))


WORDS = ("count", "twice", "missing", "coordinator", "devices")


def _wrong(reports, expected, words=WORDS, ids=None, zero=None):
    by_id = {r["process_id"]: r for r in reports}
    if zero is None:
        zero = by_id.get(0, {})
    numbers = Counter(r["process_id"] for r in reports)
    ids = set(range(expected)) if ids is None else ids
    found = {
        "count": {
            r["process_id"] for r in reports if r["num_processes"] != expected
        },
        "twice": {i for i, n in numbers.items() if n > 1},
        "missing": ids - set(by_id),
    }
    for word, key in (
        ("coordinator", "coordinator_address"),
        ("devices", "devices"),
    ):
        found[word] = {
            i for i, r in by_id.items() if zero and r[key] != zero[key]
        }
    for word in words:
        if found[word]:
            return word, sorted(found[word])
    return "fine", []


def what_is_wrong__first_of_the_list(reports, expected):
    return _wrong(reports, expected, zero=reports[0] if reports else {})


def what_is_wrong__the_majority(reports, expected):
    zero = {}
    for key in ("coordinator_address", "devices"):
        values = Counter(r[key] for r in reports)
        zero[key] = values.most_common(1)[0][0] if values else None
    return _wrong(reports, expected, zero=zero)


def what_is_wrong__only_those_that_came(reports, expected):
    last = max((r["process_id"] for r in reports), default=-1)
    return _wrong(reports, expected, ids=set(range(last + 1)))


def what_is_wrong__counted_from_one(reports, expected):
    return _wrong(reports, expected, ids=set(range(1, expected + 1)))


def what_is_wrong__how_many_came(reports, expected):
    word, ids = _wrong(reports, expected)
    if word == "missing":
        ids = list(range(len(reports), expected))
    return word, ids


def what_is_wrong__missing_first(reports, expected):
    words = ("missing", "count", "twice", "coordinator", "devices")
    return _wrong(reports, expected, words)


def what_is_wrong__count_forgotten(reports, expected):
    words = ("twice", "missing", "coordinator", "devices")
    return _wrong(reports, expected, words)


def what_is_wrong__twice_forgotten(reports, expected):
    words = ("count", "missing", "coordinator", "devices")
    return _wrong(reports, expected, words)


def what_is_wrong__as_they_came(reports, expected):
    word, ids = _wrong(reports, expected)
    order = [r["process_id"] for r in reports]
    if word == "missing":
        return word, ids
    return word, sorted(ids, key=order.index)


def what_is_wrong__each_report(reports, expected):
    word, ids = _wrong(reports, expected)
    if word not in ("count", "twice"):
        return word, ids
    return word, sorted(
        r["process_id"]
        for r in reports
        if word == "twice" or r["num_processes"] != expected
        if r["process_id"] in ids
    )
