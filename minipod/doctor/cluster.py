"""`minipod doctor --cluster`, in each process that a launcher has started; process 0 reports, the others help.

First they meet, without JAX (`connections`): it is known then which do not come, and what the others have is compared.
Then each one's JAX joins, sums and works (`cluster_probe`), step by step, so that the report can say where each stood.
"""

import contextlib
import math
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import Any

from minipod.cluster.arguments import port_of_step
from minipod.cluster.place import TwoLaunchers, place
from minipod.doctor import connections
from minipod.doctor.connections import Line, Lost
from minipod.doctor.findings import Finding, all_well, as_data, describe
from minipod.doctor.gathered import STEPS, Gathered, findings
from minipod.doctor.taking_part import NoCluster, Part, facts

GRACE = 3.0  # seconds for the others once one has ended, and for an answer about the state
OUTSIDE = (
    "--cluster: this process is in no cluster; start it by a launcher: `srun minipod doctor --cluster`, "
    "`mpirun minipod doctor --cluster`, `minipod run -m minipod doctor --cluster`"
)


def examine(limit: float, as_json: bool) -> int:
    """Take part, and report in process 0; the exit code is the same in all. Raises ValueError outside of a cluster.

    limit: seconds for all to come, and once more for all to compute
    """
    if not (limit > 0 and math.isfinite(limit)):
        raise ValueError(f"limit {limit:g}: a positive number of seconds is needed")
    if own := port_of_step():
        os.environ["JAX_COORDINATOR_PORT"] = own  # beside a training in the same job
    try:
        place()
    except TwoLaunchers as error:
        said = f"--cluster: two launchers have started this process, {error}: start it by one of them"
        raise ValueError(said) from None
    if "MINIPOD_LIMIT" in os.environ:
        limit = min(limit, int(os.environ["MINIPOD_LIMIT"]) / 3)  # or `minipod run` would end us before we report
    try:
        part = Part(limit)
    except NoCluster as error:
        known = "JAX finds no cluster" in str(error)
        raise ValueError(OUTSIDE if known else f"--cluster: {error}") from None
    cluster = part.cluster
    try:
        if cluster["processes"] < 2:
            raise ValueError(f"--cluster: {cluster['launcher']} has started one process: there is nothing to compare")
        if cluster["process"]:
            return _help(part, limit)
        return _report(part, limit, as_json)
    finally:
        part.end()


def _help(part: Part, limit: float) -> int:
    """In every process but 0: say who we are, and what our part of JAX says, until process 0 tells us to end."""
    process = part.cluster["process"]
    try:
        line = connections.visit(part.cluster["coordinator"], process, facts(part.cluster), limit)
        end = time.monotonic() + 2 * limit + 4 * GRACE
        while (left := end - time.monotonic()) > 0:
            for said in _heard(line, part, left):
                match said:
                    case {"ask": "time"}:
                        line.say(time=time.time())
                    case {"ask": "state"}:
                        line.say(stopped=part.stopped(), words=part.words())
                    case {"go": True}:
                        part.go()
                    case {"end": int(code)}:
                        return code
            if new := part.read():
                line.say(seen=new)
        raise Lost("process 0 has not said how it ends")
    except Lost as error:
        print(f"minipod: process {process}: {error}", file=sys.stderr, flush=True)
        return 1


def _heard(line: Line, part: Part, left: float) -> Iterator[dict[str, Any]]:
    """What process 0 has said by now; waits a little for that, or for our own part."""
    own = [part.fd] if part.ended is None else []
    select.select([line.socket, *own], [], [], min(left, 0.5))
    with contextlib.suppress(TimeoutError):
        while True:
            yield line.hear(0)


def _report(part: Part, limit: float, as_json: bool) -> int:
    """In process 0: gather, tell the others to end, print."""
    cluster = part.cluster
    gathered = Gathered(cluster["processes"], cluster["launcher"], cluster["coordinator"], limit=limit)
    lines: dict[int, Line] = {}
    try:
        found = _gather(part, gathered, lines)
    except OSError as error:
        advice = f"process 0 cannot listen there ({error.strerror}): another job's coordinator?"
        found = [Finding("Coordinator", gathered.coordinator, advice)]
    code = 0 if all_well(found) else 1
    if as_json:
        import json

        data = as_data(found) | {"processes": _rows(gathered)}
        print(json.dumps(data, ensure_ascii=False), flush=True)
    else:
        print(describe(found, sys.stdout.encoding), flush=True)
    for line in lines.values():
        line.say(end=code)
    return code


def _gather(part: Part, gathered: Gathered, lines: dict[int, Line]) -> list[Finding]:
    """Meet the others, let all compute; what is found. Raises OSError where nobody can listen."""
    gathered.facts[0] = facts(part.cluster)
    with connections.listen(gathered.coordinator, "MINIPOD_COORDINATOR" not in os.environ) as listener:
        lines |= connections.welcome(listener, gathered.processes, gathered.limit)
    for process, line in lines.items():
        with contextlib.suppress(Lost, TimeoutError):
            line.measure_clock()
            gathered.facts[process] = line.facts
            gathered.clocks[process] = line.offset, line.within
    if not gathered.missing:
        part.go()
        for line in lines.values():
            line.say(go=True)
        _compute(part, gathered, lines)
    return findings(gathered)


def _compute(part: Part, gathered: Gathered, lines: dict[int, Line]) -> None:
    """Note the steps of all until all are done, one has failed, or the limit."""
    end = time.monotonic() + gathered.limit
    steps = gathered.steps = {p: {} for p in range(gathered.processes)}
    while time.monotonic() < end and not gathered.all_have("pace"):
        own = [part.fd] if part.ended is None else []
        select.select([*own, *(line.socket for line in lines.values() if not line.gone)], [], [], 0.2)
        steps[0] |= part.read()
        for process, line in lines.items():
            _listen(process, line, steps)
        if any("ended" in seen for seen in steps.values()):
            end = min(end, time.monotonic() + GRACE)
    if not gathered.all_have("pace"):
        gathered.failed = _failures(part, gathered, lines)


def _listen(process: int, line: Line, steps: dict[int, dict[str, Any]]) -> None:
    """Note what a process has said by now."""
    with contextlib.suppress(TimeoutError):
        while not line.gone:
            try:
                said = line.hear(0)
            except Lost:
                steps[process] |= {"ended": "its doctor has gone"}
                return
            steps[process] |= said.get("seen", {}) | {k: v for k, v in said.items() if k in ("stopped", "words")}


def _failures(part: Part, gathered: Gathered, lines: dict[int, Line]) -> dict[int, str]:
    """Who ended, else who is stopped or silent, else where all stand."""
    steps = gathered.steps
    ended = {p: seen["ended"] for p, seen in steps.items() if "ended" in seen}
    for line in lines.values():
        line.say(ask="state")
    end = time.monotonic() + GRACE
    while time.monotonic() < end and not all("stopped" in steps[p] for p, line in lines.items() if not line.gone):
        for process, line in lines.items():
            _listen(process, line, steps)
        time.sleep(0.05)
    steps[0] |= {"stopped": part.stopped(), "words": part.words()}
    stopped = {p: "is stopped (SIGSTOP)" for p, seen in steps.items() if seen.get("stopped")}
    silent = {p: "does not answer: stopped, or its host is gone" for p, seen in steps.items() if "stopped" not in seen}
    silent = {p: why for p, why in silent.items() if p not in ended}
    words = {p: f"ended while {_at(steps[p])}: {why}" for p, why in ended.items()}
    if stopped or silent:
        return stopped | silent
    return words or {p: f"was still {_at(seen)} after {gathered.limit:g} s{_said(seen)}" for p, seen in steps.items()}


def _said(seen: dict[str, Any]) -> str:
    return f": {seen['words']}" if seen.get("words") else ""


def _at(seen: dict[str, Any]) -> str:
    return next((words for step, words in STEPS.items() if step not in seen), "at its end")


def _rows(gathered: Gathered) -> list[dict[str, Any]]:
    """What --json says of each process."""
    rows = []
    for p in range(gathered.processes):
        ahead, within = gathered.clocks.get(p, (0.0, 0.0))
        row = {"process": p, "came": p in gathered.facts, "clock": ahead, "clock_within": within}
        rows.append(row | gathered.facts.get(p, {}) | gathered.steps.get(p, {}) | {"failed": gathered.failed.get(p)})
    return rows
