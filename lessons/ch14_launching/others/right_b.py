"""Right, written another way again: by the environment's variables, by loops, by a list per id."""


def sbatch_file(program, nodes, a_node, minutes, submit):
    days, rest = divmod(minutes, 24 * 60)
    text = "#!/bin/bash\n"
    text += "#SBATCH --job-name=mine --output=mine-%j.log\n"
    text += f"#SBATCH --nodes {nodes} --ntasks-per-node {a_node}\n"
    text += f"#SBATCH --time={days}-{rest // 60}:{rest % 60}  # days-hours:minutes\n"
    text += "export SLURM_KILL_BAD_EXIT=1\n"
    text += f"PYTHONUNBUFFERED=1 srun \\\n    python3 {program} &\n"
    text += "wait\n"
    return submit(text)


def arguments_by_hand(hosts, gpus, a_gpu_each, port):
    address, found = hosts[0] + ":" + str(port), []
    for host in hosts:
        if a_gpu_each:
            for gpu in range(gpus):
                found.append({"host": host, "local_device_ids": [gpu]})
        else:
            found.append({"host": host, "local_device_ids": [*range(gpus)]})
    for i, each in enumerate(found):
        each.update(
            coordinator_address=address, num_processes=len(found), process_id=i
        )
    return found


def which_launcher(environ):
    get = environ.get
    if get("OMPI_MCA_orte_hnp_uri"):
        return (
            "ompi",
            int(get("OMPI_COMM_WORLD_RANK")),
            int(get("OMPI_COMM_WORLD_SIZE")),
        )
    if (
        get("SLURM_STEP_NODELIST")
        and get("SLURM_PROCID")
        and get("SLURM_JOB_ID")
    ):
        return ("slurm", int(get("SLURM_PROCID")), int(get("SLURM_NTASKS")))
    hosts = get("TPU_PROCESS_ADDRESSES") or get("TPU_WORKER_HOSTNAMES")
    return (
        ("gketpu", int(get("TPU_WORKER_ID")), len(hosts.split(",")))
        if hosts
        else None
    )


def what_is_wrong(reports, expected):
    each = {}
    for r in reports:
        each.setdefault(r["process_id"], []).append(r)
    tests = {
        "count": lambda rs: any(r["num_processes"] != expected for r in rs),
        "twice": lambda rs: len(rs) > 1,
    }
    for word, test in tests.items():
        found = sorted(i for i, rs in each.items() if test(rs))
        if found:
            return word, found
    found = sorted(set(range(expected)).difference(each))
    if found:
        return "missing", found
    for word, key in (
        ("coordinator", "coordinator_address"),
        ("devices", "devices"),
    ):
        found = sorted(
            i for i, [r] in each.items() if r[key] != each[0][0][key]
        )
        if found:
            return word, found
    return "fine", found
