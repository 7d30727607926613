"""The faults of this chapter: the program that shows each, how long it takes to
be noticed, by default and with limits, and what is said then.

python lessons/ch12_pitfalls/faults.py   (all of them, with limits, as a table)
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from minipod import cluster
from minipod.cluster import Run
from minipod.tables import Table

HERE = Path(__file__).parent
SEEDS = (
    {"PYTHONHASHSEED": "1"},
    {"PYTHONHASHSEED": "2"},
)  # two orders of a set
LIMITS = {"collective_timeout": 3, "limit": 30.0}  # seconds


@dataclass(frozen=True)
class Fault:
    """A program that goes wrong in two processes.

    outcome  "hang" (a collective waits in vain), "end" (it ends by itself, with
             an error), "lie" (it ends well, and is wrong) or "fine"
    said     a regular expression for the first failure, "" where there is none
    """

    name: str
    outcome: str
    said: str
    program: str
    arguments: tuple[str, ...] = ()
    env: tuple[dict[str, str], ...] = field(default=({}, {}))

    def run(self) -> Run:
        """Run it with limits."""
        return cluster.run(
            HERE / self.program,
            *self.arguments,
            env=self.env,
            check=False,
            **LIMITS,
        )

    def shown_by(self, done: Run) -> bool:
        """Whether a run went wrong in the way that is expected."""
        if not self.said:
            return done.ok
        return re.search(self.said, done.first_failure or "") is not None


DULL = "Error dispatching computation: | for (recv|send) operation to complete"
TIMED_OUT = "Timed out|closed by peer|Connection reset"
FAULTS = (
    Fault("another order", "lie", "", "order_of_a_set.py", env=SEEDS),
    Fault(
        "8 and 16 columns",
        "lie",
        f"process [01] raised .*({TIMED_OUT})",
        "own_longest.py",
        ("8", "16"),
    ),
    Fault(
        "3 and 5 columns",
        "lie",
        f"process [01] raised .*({TIMED_OUT})",
        "own_longest.py",
        ("3", "5"),
    ),
    Fault(
        "100 and 128 columns",
        "end",
        r"aborted \(SIGABRT\)|Timed out",
        "own_longest.py",
        ("100", "128"),
    ),
    Fault("one batch fewer", "hang", TIMED_OUT, "last_batch.py"),
    Fault("only one looks", "hang", TIMED_OUT, "only_one_looks.py"),
    Fault("each decides alone", "hang", TIMED_OUT, "own_decision.py"),
    Fault("another function", "hang", TIMED_OUT, "other_function.py"),
    Fault("one raises", "hang", "process 1 raised ValueError", "raises.py"),
    Fault(
        "process 1 is killed", "hang", "by SIGKILL", "dies.py", ("1", "SIGKILL")
    ),
    Fault(
        "process 0 is killed", "end", "by SIGKILL", "dies.py", ("0", "SIGKILL")
    ),
    Fault(
        "process 1 is suspended",
        "hang",
        "process 1 (is|was) suspended",
        "dies.py",
        ("1", "SIGSTOP"),
    ),
    Fault("3 and 5 devices", "end", "AssertionError", "uneven_devices.py"),
    Fault(
        "one number twice",
        "end",
        "both join .* as process 0",
        "wrong_start.py",
        ("same-id",),
    ),
    Fault(
        "a third is expected",
        "hang",
        "num_processes is 3, but only 2 were started",
        "wrong_start.py",
        ("three-of-two",),
    ),
    Fault(
        "the port is taken",
        "end",
        "process 0 (raised|was killed by SIGSEGV)",
        "wrong_start.py",
        ("port-taken",),
    ),
    Fault("a print", "fine", "", "stray_print.py"),
    Fault("one is slow", "fine", "", "only_slow.py"),
)


def matrix(recorded: Path = HERE / "recorded.json") -> Table:
    """Every fault run now, four at a time, beside what record_faults.py saw
    without limits: seconds until all have ended, and the first failure."""
    long = json.loads(recorded.read_text())["faults"]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(Fault.run, FAULTS))
    rows = tuple(
        (f.name, _long(long[f.name]), f"{run.seconds:.0f}", _said(f, run))
        for f, run in zip(FAULTS, runs, strict=True)
    )
    head = ("fault", "default, s", "limits, s", "what is said")
    return Table(head, rows, left=(0, 3), kind="faults")


def _long(record: dict) -> str:
    """Seconds until the last one ended; of those of whom some never did, too,
    when the first had ended."""
    ended = [seconds for seconds in record["each"] if seconds is not None]
    if len(ended) in (0, len(record["each"])):
        return record["seconds"]
    return f"{min(ended)} / {record['seconds']}"


def _said(fault: Fault, run: Run) -> str:
    if run.ok:
        return {"lie": "nothing, and it is wrong"}.get(fault.outcome, "nothing")
    said = (run.first_failure or "").partition("; ")[0]
    return re.sub(f"{DULL}|, at [\\w.]+:\\d+", "", said)


if __name__ == "__main__":
    print(matrix())
