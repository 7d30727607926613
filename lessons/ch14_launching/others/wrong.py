"""Every known mistake of ch14_launching once more, spelled differently: it must be given the same name."""


def _job(nodes, tasks, time, start, before="", first="#!/bin/sh\n"):
    return f"{first}{before}#SBATCH -N{nodes} {tasks}\n#SBATCH -t {time}\n{start}\n"


def sbatch_file__no_srun(program, nodes, a_node, minutes, submit):
    start = f"export PYTHONUNBUFFERED=1\npython3 {program}"
    return submit(_job(nodes, f"-n {nodes * a_node}", f"{minutes}:00", start))


def sbatch_file__minutes_as_seconds(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes,
            f"-n {nodes * a_node}",
            f"0:0:{minutes}",
            f"srun -K -u python {program}",
        )
    )


def sbatch_file__minutes_as_hours(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes,
            f"-n {nodes * a_node}",
            f"0-{minutes}",
            f"srun -K -u python {program}",
        )
    )


def sbatch_file__tasks_of_a_node(program, nodes, a_node, minutes, submit):
    return submit(
        _job(nodes, f"-n {a_node}", minutes, f"srun -K -u python {program}")
    )


def sbatch_file__one_a_node(program, nodes, a_node, minutes, submit):
    tasks = f"--ntasks={nodes}"
    return submit(_job(nodes, tasks, minutes, f"srun -K -u python {program}"))


def sbatch_file__left_running(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes,
            f"-n {nodes * a_node}",
            minutes,
            f"srun -K0 -u python {program}",
        )
    )


def sbatch_file__buffered(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes,
            f"-n {nodes * a_node}",
            minutes,
            f"srun --kill-on-bad-exit -l python {program} -u",
        )
    )


def sbatch_file__bare(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes, f"-n {nodes * a_node}", minutes, f"srun -l python {program}"
        )
    )


def sbatch_file__too_late(program, nodes, a_node, minutes, submit):
    return submit(
        _job(
            nodes,
            f"-n {nodes * a_node}",
            minutes,
            f"srun -K1 -u python {program}",
            before="set -e\n",
        )
    )


def sbatch_file__empty_first_line(program, nodes, a_node, minutes, submit):
    tasks = f"--ntasks-per-node={a_node}"
    return submit(
        _job(
            nodes,
            tasks,
            minutes,
            f"srun -K1 -u python {program}",
            first="   #!/bin/sh\n",
        )
    )


def sbatch_file__a_space(program, nodes, a_node, minutes, submit):
    lines = [
        "#!/bin/sh",
        f" #SBATCH -N {nodes} -n {nodes * a_node} -t {minutes}",
        "export PYTHONUNBUFFERED=1 SLURM_KILL_BAD_EXIT=1",
        f"srun python {program}",
    ]
    return submit("\n".join(lines))


def sbatch_file__no_time(program, nodes, a_node, minutes, submit):
    return submit(
        f"#!/bin/bash\n#SBATCH -N{nodes} -n{nodes * a_node}\nsrun -K1 python -u {program}\n"
    )


def sbatch_file__in_the_background(program, nodes, a_node, minutes, submit):
    start = f"export PYTHONUNBUFFERED=1; srun -K python {program} >out 2>&1 &"
    return submit(_job(nodes, f"-n {nodes * a_node}", minutes, start))


def sbatch_file__option_of_srun(program, nodes, a_node, minutes, submit):
    tasks = f"-n {nodes * a_node} --kill-on-bad-exit"
    return submit(_job(nodes, tasks, minutes, f"srun -u python {program}"))


def _rows(hosts, gpus, a_gpu_each, port, each=None):
    rows = []
    for i, host in enumerate(hosts):
        for k in range(gpus if a_gpu_each else 1):
            row = {
                "host": host,
                "coordinator_address": f"{hosts[0]}:{port}",
                "process_id": len(rows),
            }
            row["local_device_ids"] = [k] if a_gpu_each else [*range(gpus)]
            row["num_processes"] = len(hosts) * (gpus if a_gpu_each else 1)
            if each:
                each(row, i, k)
            rows.append(row)
    return rows


def arguments_by_hand__localhost(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    for row in rows:
        row["coordinator_address"] = "localhost:" + str(port)
    return rows


def arguments_by_hand__loopback(hosts, gpus, a_gpu_each, port):
    rows = _rows(["127.0.0.1", *hosts[1:]], gpus, a_gpu_each, port)
    return [
        row | {"host": hosts[0]} if row["host"] == "127.0.0.1" else row
        for row in rows
    ]


def arguments_by_hand__own_address(hosts, gpus, a_gpu_each, port):
    return _rows(
        hosts,
        gpus,
        a_gpu_each,
        port,
        lambda r, i, k: r.update(coordinator_address=hosts[i] + f":{port}"),
    )


def arguments_by_hand__no_port(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [
        row | {"coordinator_address": row["coordinator_address"].split(":")[0]}
        for row in rows
    ]


def arguments_by_hand__local_number(hosts, gpus, a_gpu_each, port):
    return _rows(
        hosts, gpus, a_gpu_each, port, lambda r, i, k: r.update(process_id=k)
    )


def arguments_by_hand__number_of_a_gpu(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [
        row
        | {
            "process_id": hosts.index(row["host"]) * gpus
            + row["local_device_ids"][0]
        }
        for row in rows
    ]


def arguments_by_hand__hosts_counted(hosts, gpus, a_gpu_each, port):
    rows, n = _rows(hosts, gpus, a_gpu_each, port), len(hosts)
    return [row | {"num_processes": n} for row in rows]


def arguments_by_hand__gpus_counted(hosts, gpus, a_gpu_each, port):
    rows, n = _rows(hosts, gpus, a_gpu_each, port), sum(gpus for _ in hosts)
    return [row | {"num_processes": n} for row in rows]


def arguments_by_hand__global_ids(hosts, gpus, a_gpu_each, port):
    def count_on(row, i, k):
        row["local_device_ids"] = [
            i * gpus + g for g in row["local_device_ids"]
        ]

    return _rows(hosts, gpus, a_gpu_each, port, count_on)


def arguments_by_hand__none_for_all(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [
        row if a_gpu_each else row | {"local_device_ids": None} for row in rows
    ]


def arguments_by_hand__one_gpu_a_host(hosts, gpus, a_gpu_each, port):
    rows = _rows(hosts, gpus, a_gpu_each, port)
    return [
        row if a_gpu_each else row | {"local_device_ids": [0]} for row in rows
    ]


def arguments_by_hand__round_robin(hosts, gpus, a_gpu_each, port):
    n = len(hosts) * (gpus if a_gpu_each else 1)
    return [
        {
            "host": hosts[i % len(hosts)],
            "coordinator_address": f"{hosts[0]}:{port}",
            "num_processes": n,
            "process_id": i,
            "local_device_ids": [i // len(hosts)]
            if a_gpu_each
            else [*range(gpus)],
        }
        for i in range(n)
    ]


def arguments_by_hand__process_id_for_gpu(hosts, gpus, a_gpu_each, port):
    each = gpus if a_gpu_each else 1
    return [
        {
            "host": hosts[i // each],
            "coordinator_address": hosts[0] + ":" + str(port),
            "num_processes": each * len(hosts),
            "process_id": i,
            "local_device_ids": [i] if each > 1 else [*range(gpus)],
        }
        for i in range(each * len(hosts))
    ]


def _found(environ, kind):
    if kind == "ompi" and environ.get("OMPI_MCA_orte_hnp_uri"):
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    if kind == "slurm" and environ.get("SLURM_STEP_NODELIST"):
        return (
            "slurm",
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
        )
    hosts = environ.get(
        "TPU_PROCESS_ADDRESSES", environ.get("TPU_WORKER_HOSTNAMES")
    )
    if kind == "tpu" and hosts:
        return "gketpu", int(environ["TPU_WORKER_ID"]), len(hosts.split(","))
    return None


def _first(environ, *kinds):
    return next(filter(None, (_found(environ, kind) for kind in kinds)), None)


def which_launcher__slurm_first(environ):
    return _first(environ, "slurm", "ompi", "tpu")


def which_launcher__tpu_first(environ):
    return _first(environ, "tpu", "ompi", "slurm")


def which_launcher__batch_script(environ):
    if found := _found(environ, "ompi"):
        return found
    if environ.get("SLURM_PROCID"):
        return (
            "slurm",
            int(environ["SLURM_PROCID"]),
            int(environ["SLURM_NTASKS"]),
        )
    return _found(environ, "tpu")


def which_launcher__job_is_enough(environ):
    if found := _found(environ, "ompi"):
        return found
    if environ.get("SLURM_JOB_ID"):
        rank = environ.get("SLURM_PROCID", "0")
        return "slurm", int(rank), int(environ["SLURM_NTASKS"])
    return _found(environ, "tpu")


def which_launcher__open_mpi_5(environ):
    if environ.get("OMPI_COMM_WORLD_SIZE"):
        return (
            "ompi",
            int(environ["OMPI_COMM_WORLD_RANK"]),
            int(environ["OMPI_COMM_WORLD_SIZE"]),
        )
    return _first(environ, "slurm", "tpu")


def which_launcher__local_rank(environ):
    found = _first(environ, "ompi", "slurm", "tpu")
    if found and found[0] != "gketpu":
        name = {"ompi": "OMPI_COMM_WORLD_LOCAL_RANK", "slurm": "SLURM_LOCALID"}[
            found[0]
        ]
        return found[0], int(environ[name]), found[2]
    return found


def which_launcher__nodes_counted(environ):
    found = _first(environ, "ompi", "slurm", "tpu")
    return (
        (*found[:2], int(environ["SLURM_NNODES"]))
        if found and found[0] == "slurm"
        else found
    )


def which_launcher__hostnames_only(environ):
    return _first(
        {k: v for k, v in environ.items() if k != "TPU_PROCESS_ADDRESSES"},
        "ompi",
        "slurm",
        "tpu",
    )


def which_launcher__texts(environ):
    found = _first(environ, "ompi", "slurm", "tpu")
    return found and tuple(map(str, found))


def _say(reports, expected, zero=None):
    ids = [r["process_id"] for r in reports]
    zero = zero or next((r for r in reports if r["process_id"] == 0), None)
    yield (
        "count",
        {r["process_id"] for r in reports if r["num_processes"] != expected},
    )
    yield "twice", {i for i in ids if ids.count(i) > 1}
    yield "missing", {i for i in range(expected) if i not in ids}
    if zero:
        yield (
            "coordinator",
            {
                r["process_id"]
                for r in reports
                if r["coordinator_address"] != zero["coordinator_address"]
            },
        )
        yield (
            "devices",
            {
                r["process_id"]
                for r in reports
                if r["devices"] != zero["devices"]
            },
        )


def _told(said):
    return next(
        ((word, sorted(ids)) for word, ids in said if ids), ("fine", [])
    )


def what_is_wrong__first_of_the_list(reports, expected):
    return _told(_say(reports, expected, reports[0] if reports else None))


def what_is_wrong__the_majority(reports, expected):
    def most(key):
        values = [r[key] for r in reports]
        return max(values, key=values.count)

    zero = (
        {key: most(key) for key in ("coordinator_address", "devices")}
        if reports
        else None
    )
    return _told(_say(reports, expected, zero))


def what_is_wrong__only_those_that_came(reports, expected):
    ids = [r["process_id"] for r in reports]
    said = dict(_say(reports, expected))
    said["missing"] = [i for i in range(max(ids, default=0)) if i not in ids]
    return _told(said.items())


def what_is_wrong__counted_from_one(reports, expected):
    said = dict(_say(reports, expected))
    ids = [r["process_id"] for r in reports]
    said["missing"] = [i + 1 for i in range(expected) if i + 1 not in ids]
    return _told(said.items())


def what_is_wrong__how_many_came(reports, expected):
    told = _told(_say(reports, expected))
    if told[0] == "missing":
        return "missing", [*range(expected)[len(reports) :]]
    return told


def what_is_wrong__missing_first(reports, expected):
    said = dict(_say(reports, expected))
    return _told([("missing", said.pop("missing")), *said.items()])


def what_is_wrong__count_forgotten(reports, expected):
    return _told(list(_say(reports, expected))[1:])


def what_is_wrong__twice_forgotten(reports, expected):
    return _told(
        (word, ids) for word, ids in _say(reports, expected) if word != "twice"
    )


def what_is_wrong__as_they_came(reports, expected):
    word, ids = _told(_say(reports, expected))
    if word in ("missing", "fine"):
        return word, ids
    return word, list(
        dict.fromkeys(
            r["process_id"] for r in reports if r["process_id"] in ids
        )
    )


def what_is_wrong__each_report(reports, expected):
    ids = [r["process_id"] for r in reports]
    odd = sorted(
        r["process_id"] for r in reports if r["num_processes"] != expected
    )
    if odd:
        return "count", odd
    twice = sorted(i for i in ids if ids.count(i) > 1)
    return ("twice", twice) if twice else _told(_say(reports, expected))
