


# what: Believes that a process with one GPU sees only that one, so that its local id is always 0.
def arguments_by_hand(
    hosts: list[str], gpus: int, a_gpu_each: bool, port: int
) -> list[dict]:
    a_host = gpus if a_gpu_each else 1
    arguments = []
    for host in hosts:
        for _ in range(a_host):
            arguments.append(
                {
                    "host": host,
                    "coordinator_address": f"{hosts[0]}:{port}",
                    "num_processes": len(hosts) * a_host,
                    "process_id": len(arguments),
                    "local_device_ids": [0] if a_gpu_each else list(range(gpus)),
                }
            )
    return arguments


# what: takes the first report for that of process 0 + asks for missing ids before those that occur twice
def what_is_wrong(reports: list[dict], expected: int) -> tuple[str, list[int]]:
    ids = [report["process_id"] for report in reports]
    wrong = {r["process_id"] for r in reports if r["num_processes"] != expected}
    if wrong:
        return "count", sorted(wrong)
    missing = set(range(expected)) - set(ids)
    if missing:
        return "missing", sorted(missing)
    twice = {number for number in ids if ids.count(number) > 1}
    if twice:
        return "twice", sorted(twice)
    for word, name in (("coordinator", "coordinator_address"), ("devices", "devices")):
        others = {r["process_id"] for r in reports if r[name] != reports[0][name]}
        if others:
            return word, sorted(others)
    return "fine", []


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
