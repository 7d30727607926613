"""Format the findings for people and for Prometheus."""

import statistics
from collections.abc import Callable, Iterable

from minipod.ranges import counted
from minipod.tables import Table
from minipod.watch.diagnosis import Finding, at
from minipod.watch.heartbeats import Beat

# name, what it is, and what it is of one process; None: not known yet
METRICS: tuple[tuple[str, str, Callable[[Beat], float | None]], ...] = (
    ("done_step", "The last step that this process has finished.", lambda b: b.done),
    ("step_seconds", "Median time of this process's last ten steps.", lambda b: b.step_seconds),
    ("own_seconds", "Median time of this process's own part of its last ten steps.", lambda b: b.own_seconds),
    ("standing_seconds", "Time since this process last called begin, ready or done.", lambda b: b.seconds),
    (
        "silent_seconds",
        "Time that the watcher has waited for the next heartbeat of this process.",
        lambda b: round(b.silent, 3),
    ),
)


def page(beats: list[Beat], findings: Iterable[Finding]) -> str:
    """Return a table with a line for each process, followed by the problems."""
    rows = tuple(
        (str(b.process), b.host, str(b.done), _seconds(b.step_seconds), _seconds(b.own_seconds), b.doing,
         f"{b.seconds:.1f}", at(b.at).removeprefix(", at "))
        for b in beats
    )  # fmt: skip
    columns = ("process", "host", "done", "a step", "its own", "doing", "for", "at")
    return "\n".join([str(Table(columns, rows, left=(0, 1, 5, 7))), *(f.sentence for f in findings)])


def head(beats: list[Beat]) -> str:
    """Return one line with the number of processes and their progress."""
    steps = [b.step_seconds for b in beats if b.step_seconds is not None]
    hosts = len({b.host for b in beats})
    where = f"{counted(len(beats), 'process')} on {counted(hosts, 'host')}"
    takes = f", {statistics.median(steps):.2f} s a step" if steps else ""
    done = f"step {min(b.done for b in beats)}" if len(steps) == len(beats) else "first step not yet"
    return f"{where}, {done} done{takes}"


def prometheus(beats: list[Beat], findings: Iterable[Finding]) -> str:
    """Return Prometheus's text format 0.0.4, for node_exporter's textfile collector or any file server."""
    lines = []
    for name, what, of in METRICS:
        lines += [f"# HELP minipod_{name} {what}", f"# TYPE minipod_{name} gauge"]
        values = [(b, of(b)) for b in beats]
        lines += [f"minipod_{name}{_labels(b)} {value}" for b, value in values if value is not None]
    lines += ["# HELP minipod_found 1 for each problem found."]
    lines += ["# TYPE minipod_found gauge"]
    for f in findings:
        of = {b.process: b for b in beats}
        lines += [f"minipod_found{_labels(of.get(p), process=str(p), kind=f.kind)} 1" for p in f.processes]
        lines += [f"minipod_found{_labels(kind=f.kind)} 1"] * (not f.processes)
    return "\n".join(lines)


def _labels(b: Beat | None = None, **more: str) -> str:
    labels = more
    if b:
        host = b.host.replace("\\", r"\\").replace('"', r"\"")
        labels = {"process": str(b.process), "host": host} | more
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
