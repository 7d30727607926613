"""Run `minipod watch FOLDER`: report on a running job from outside, once or until it ends."""

import time
from pathlib import Path

from minipod.watch.diagnosis import LIMIT, SILENT, Finding, judge, stands
from minipod.watch.heartbeats import Beat, Folder
from minipod.watch.page import head, page, prometheus

LOOK = 0.5  # seconds between two looks


def watch(folder: str | Path, limit: float = LIMIT) -> bool:
    """Print each new finding, until all processes have ended. Returns whether anything was wrong.

    limit: seconds that a step or a save may take; the first step may take twice as long. Raises FileNotFoundError if
    the folder or its heartbeats are missing, NotADirectoryError if it is a file, ValueError if no heartbeat can be
    read or `limit` is below 1.
    """
    looking, limit = Folder(folder), _checked(limit)
    beats, unreadable = looking.look()
    _say(head(beats))
    before: set[tuple[str, tuple[int, ...], bool]] = set()
    blamed: set[int] = set()  # processes of which something was said, and not yet that they go on
    bad = False
    while True:
        findings = judge(beats, limit)
        now = {(f.kind, f.processes, f.open): f.sentence for f in findings}
        now |= {(sentence, (), False): sentence for sentence in unreadable}
        for key in now.keys() - before:
            _say(now[key])
        still = {p for _, processes, _ in now for p in processes}
        going = {b.process for b in beats if b.doing != "ended" and not stands(b, limit)}
        for p in sorted((blamed - still) & going):
            _say(f"process {p} is working again")
        blamed = blamed - going | still
        bad |= bool(now)
        before = set(now)
        if all(b.doing == "ended" or _gone(b, findings) for b in beats):
            last = max((b.done for b in beats if b.step_seconds is not None), default="none")
            _say(f"all processes have ended; last step done: {last}")
            return bad
        time.sleep(LOOK)
        beats, unreadable = looking.look()


def once(folder: str | Path, limit: float = LIMIT, for_prometheus: bool = False) -> bool:
    """Print the current state, as a table or in the Prometheus text format. Returns whether anything is wrong.

    This takes a second, or longer if a process writes nothing, since it then waits until the process counts as silent.
    Raises the same errors as `watch`.
    """
    looking, limit, end = Folder(folder), _checked(limit), None
    while True:
        beats, unreadable = looking.look()
        end = end or time.monotonic() + (SILENT + 1) * max(b.every for b in beats)
        heard = all(b.doing == "ended" or b.silent < SILENT * b.every and looking.heard(b) for b in beats)
        if heard or time.monotonic() > end:
            break
        time.sleep(LOOK)
    findings = judge(beats, limit)
    print(prometheus(beats, findings) if for_prometheus else page(beats, findings))
    for sentence in unreadable:
        print(f"# {sentence}" if for_prometheus else sentence)
    return bool(findings or unreadable)


def _gone(beat: Beat, findings: list[Finding]) -> bool:
    return any(f.kind == "gone" and beat.process in f.processes for f in findings)


def _checked(limit: float) -> float:
    if not limit >= 1:  # for less, a process does not say what it waits in
        raise ValueError(f"--limit must be 1 second or more, not {limit:g}")
    return limit


def _say(sentence: str) -> None:
    print(time.strftime("%H:%M:%S"), sentence, flush=True)
