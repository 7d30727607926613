"""Run `minipod doctor --cluster` in each process that a launcher has started; process 0 reports, the others help.

First the processes connect without JAX (`connections`): this shows which are missing, and compares the machines of the
others. Then JAX joins, sums and computes in each (`cluster_probe`), step by step, so that the report can say how far
each got.
"""

import contextlib
import json
import os
import select
import sys
import time
from collections.abc import Iterable
from typing import Any

from minipod.cluster.arguments import port_of_step
from minipod.cluster.launch import check_limit
from minipod.cluster.place import TwoLaunchers, place
from minipod.doctor import connections
from minipod.doctor.connections import Line, Lost
from minipod.doctor.findings import Finding, all_well, as_data, describe
from minipod.doctor.gathered import STEPS, Clock, Gathered, findings
from minipod.doctor.launcher import cannot_listen
from minipod.doctor.taking_part import NoCluster, Part, facts

GRACE = 3.0  # seconds for the others once one has ended, and for an answer about the state
OUTSIDE = "--cluster: JAX finds no cluster here: start `minipod doctor --cluster` with srun, mpirun or `minipod run -m`"


def examine(limit: float, as_json: bool) -> int:
    """Take part in comparing the processes; report in process 0; return the same exit code in all.

    limit: seconds for all to connect, and again for all to compute. Raises ValueError outside of a cluster.
    """
    check_limit(limit)
    if port := port_of_step():
        os.environ["JAX_COORDINATOR_PORT"] = port  # beside a training in the same job
    try:
        place()
    except TwoLaunchers as error:
        message = f"--cluster: two launchers disagree: {error}; start the process with only one of them"
        raise ValueError(message) from None
    if "MINIPOD_LIMIT" in os.environ:
        limit = min(limit, int(os.environ["MINIPOD_LIMIT"]) / 3)  # or `minipod run` would end us before we report
    try:
        part = Part(limit)
    except NoCluster as error:
        outside = "JAX finds no cluster" in str(error)
        raise ValueError(OUTSIDE if outside else f"--cluster: {error}") from None
    cluster = part.cluster
    try:
        if cluster["processes"] < 2:
            raise ValueError(f"--cluster: {cluster['launcher']} reports only one process: start at least two")
        if cluster["process"]:
            return _help(part, limit)
        return _report(part, limit, as_json)
    finally:
        part.end()


def _help(part: Part, limit: float) -> int:
    """In every process but 0: send our facts and the reports of our part of JAX, until process 0 tells us to end."""
    process = part.cluster["process"]
    try:
        line = connections.visit(part.cluster["coordinator"], process, facts(part.cluster), limit)
        end = time.monotonic() + 2 * limit + 4 * GRACE
        while (left := end - time.monotonic()) > 0:
            _wait(part, [line], min(left, 0.5))
            for message in line.messages():
                match message:
                    case {"ask": "time"}:
                        line.say(time=time.time())
                    case {"ask": "state"}:
                        line.say(stopped=part.stopped(), words=part.last_line())
                    case {"go": True}:
                        part.go()
                    case {"end": int(code)}:
                        return code
            if news := part.news():
                line.say(steps=news)
        raise Lost("process 0 has not reported the result")
    except Lost as error:
        print(f"minipod: process {process}: {error}", file=sys.stderr, flush=True)
        return 1


def _wait(part: Part, lines: Iterable[Line], seconds: float) -> None:
    """Wait until our own part or another process sends a message."""
    descriptors = [part.fd] if part.ended is None else []
    select.select([*descriptors, *(line.socket for line in lines if not line.gone)], [], [], seconds)


def _report(part: Part, limit: float, as_json: bool) -> int:
    """In process 0: gather, tell the others to end, and print."""
    cluster = part.cluster
    gathered = Gathered(cluster["processes"], cluster["launcher"], cluster["coordinator"], limit=limit)
    lines: dict[int, Line] = {}
    try:
        report = _gather(part, gathered, lines)
    except OSError as error:
        report = [Finding("Coordinator", gathered.coordinator, cannot_listen(error))]
    code = 0 if all_well(report) else 1
    if as_json:
        print(json.dumps(as_data(report) | {"processes": _rows(gathered)}, ensure_ascii=False), flush=True)
    else:
        print(describe(report, sys.stdout.encoding), flush=True)
    for line in lines.values():
        line.say(end=code)
    return code


def _gather(part: Part, gathered: Gathered, lines: dict[int, Line]) -> list[Finding]:
    """Meet the others, let all compute, and return the findings. OSError if process 0 cannot listen."""
    gathered.facts[0] = facts(part.cluster)
    with connections.listen(gathered.coordinator, "MINIPOD_COORDINATOR" not in os.environ) as listener:
        lines |= connections.welcome(listener, gathered.processes, gathered.limit, gathered.facts[0].keys())
    for process, line in lines.items():
        gathered.facts[process] = line.facts
        with contextlib.suppress(Lost, TimeoutError):
            gathered.clocks[process] = Clock(*line.measure_clock())
    if not gathered.missing:
        part.go()
        for line in lines.values():
            line.say(go=True)
        _compute(part, gathered, lines)
    return findings(gathered)


def _compute(part: Part, gathered: Gathered, lines: dict[int, Line]) -> None:
    """Record the steps of all until all are done, one has failed, or the limit is reached."""
    end = time.monotonic() + gathered.limit
    steps = gathered.steps = {p: {} for p in range(gathered.processes)}
    while time.monotonic() < end and not gathered.all_have("pace"):
        _wait(part, lines.values(), 0.2)
        steps[0] |= part.news()
        _listen(lines, steps)
        if any("ended" in each or "lost" in each for each in steps.values()):
            end = min(end, time.monotonic() + GRACE)
    if not gathered.all_have("pace"):
        gathered.failed = _failures(part, gathered, lines)


def _listen(lines: dict[int, Line], steps: dict[int, dict[str, Any]]) -> None:
    """Record what the other processes have sent by now."""
    for process, line in lines.items():
        if line.gone:
            continue
        try:
            for message in line.messages():
                steps[process] |= message.pop("steps", {}) | message
        except Lost as error:
            steps[process] |= {"lost": str(error)}


def _failures(part: Part, gathered: Gathered, lines: dict[int, Line]) -> dict[int, str]:
    """Name the processes that are stopped or silent; if none is, those that have ended; else how far the others are."""
    steps = gathered.steps
    ended = {
        p: f"{'ended' if 'ended' in each else 'was lost'} while {_doing(each)}: {each.get('ended') or each['lost']}"
        for p, each in steps.items()
        if "ended" in each or "lost" in each
    }
    for line in lines.values():
        line.say(ask="state")
    end = time.monotonic() + GRACE
    while time.monotonic() < end and not all("stopped" in steps[p] for p, line in lines.items() if not line.gone):
        _listen(lines, steps)
        time.sleep(0.05)
    steps[0] |= {"stopped": part.stopped(), "words": part.last_line()}
    stuck = {p: f"is {each['stopped']}" for p, each in steps.items() if each.get("stopped")}
    silent = [p for p, each in steps.items() if "stopped" not in each and p not in ended]
    stuck |= dict.fromkeys(silent, f"did not answer within {GRACE:g} s")
    late = {p: each for p, each in steps.items() if "pace" not in each}
    return stuck or ended or {p: f"was still {_state(each, gathered.limit)}" for p, each in late.items()}


def _state(steps: dict[str, Any], limit: float) -> str:
    last_line = f": {steps['words']}" if steps.get("words") else ""
    return f"{_doing(steps)} after {limit:g} s{last_line}"


def _doing(steps: dict[str, Any]) -> str:
    return next((doing for step, doing in STEPS.items() if step not in steps), "finishing")


def _rows(gathered: Gathered) -> list[dict[str, Any]]:
    """Return the object that --json prints for each process."""
    rows = []
    for p in range(gathered.processes):
        clock = gathered.clocks.get(p, Clock(0.0, 0.0))
        row = {"process": p, "came": p in gathered.facts, "clock": clock.ahead, "clock_within": clock.within}
        rows.append(row | gathered.facts.get(p, {}) | gathered.steps.get(p, {}) | {"failed": gathered.failed.get(p)})
    return rows
