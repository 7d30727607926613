import shlex
from collections.abc import Callable


# what: asks for a_node tasks in all, not on each node + leaves Python's output buffered, since Slurm writes the log anyway
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
        f"#SBATCH --ntasks={a_node}",
        f"#SBATCH --time={minutes}",
        "",
        f"srun --kill-on-bad-exit=1 python {shlex.quote(program)}",
    ]
    return submit("\n".join(lines) + "\n")


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
