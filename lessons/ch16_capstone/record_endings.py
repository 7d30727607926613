"""Write endings.json: three nights under a real Slurm, and what its script did.

.venv/bin/python -m lessons.ch16_capstone.record_endings (as root, 8 minutes)

As `record_night`. «often» is preempted nine times, «limit» comes near the end
of its job's time, in «full» the disk of process 1 is full.
"""

from pathlib import Path

from tests.support.slurm import Slurm

from lessons.ch16_capstone.record_night import (
    ended,
    preempt,
    recorded,
    starts_of,
    submit,
    told_of,
    until,
    write,
)

OFTEN, LIMIT = 300, 1000  # steps, for nine preemptions and for two minutes
TIMES = 9


def record() -> dict[str, object]:
    """Of each night the first and last step of each start, its job's output,
    how the job ended."""
    return recorded(often, limit, full)


def often(cluster: Slurm) -> dict[str, object]:
    """Preempted, and requeued, time after time."""
    job = submit(cluster, "often", 4, steps=OFTEN)
    for turn in range(1, TIMES + 1):
        until(lambda turn=turn: starts_of("often") == turn, f"start {turn}")
        preempt(cluster)
    ended(cluster, job)
    return brief(cluster, job, "often")


def limit(cluster: Slurm) -> dict[str, object]:
    """Too long for the job's two minutes."""
    shape = "--time=2", "--signal=TERM@20"
    job = submit(cluster, "limit", 4, *shape, steps=LIMIT)
    ended(cluster, job, 600)
    return brief(cluster, job, "limit")


def full(cluster: Slurm) -> dict[str, object]:
    """The disk of one process is full."""
    prolog = Path("prolog.sh").absolute()
    fault = '[ "$SLURM_PROCID" = 1 ] && echo export NIGHT_FAULT=FULL@33'
    prolog.write_text(f"#!/bin/sh\n{fault}\nexit 0\n")
    prolog.chmod(0o755)
    more = {"SLURM_TASK_PROLOG": str(prolog)}
    job = submit(cluster, "full", 4, more=more)
    ended(cluster, job)
    return brief(cluster, job, "full")


def brief(cluster: Slurm, job: int, name: str) -> dict[str, object]:
    """What stays of such a night."""
    night, said = told_of(name), cluster.job(job)
    starts = [[start[0][1], start[-1][1]] for start in night["starts"]]
    state, code = said["JobState"], said["ExitCode"]
    return {"starts": starts, "output": night["output"], "job": [state, code]}


if __name__ == "__main__":
    write("endings.json", record)
