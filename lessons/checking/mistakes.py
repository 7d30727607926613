"""Which known mistake behaves like a wrong answer? Only asked once an answer is wrong."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from lessons.checking import answers, observe
from lessons.checking.compare import LEFT_ALONE, difference, masked, placement
from lessons.checking.spec import Settings, Spec
from lessons.checking.verdict import Verdict, judge
from minipod import forked

# Faults that JAX reports in several ways, by type of mesh or by which of its layers finds them first.
FAULTS = {
    "a collective was left alone": LEFT_ALONE,
    "does not divide evenly": re.compile(r"implies that array axis \d+ is partitioned \d+ times"),
}
LIMIT, PATIENCE = 8.0, 3.0  # seconds for one mistake, and for one of its processes after another: enough to see it hang


def recognise(spec: Spec, settings: Settings, right: list[Any], answer: list[forked.Result]) -> str | None:
    """The first function of mistakes.py that does on every case what the answer does, and is itself not right."""
    path = spec.folder / "mistakes.py"
    if not path.exists():
        return None
    known = [name for name in answers.read(path).functions if name.startswith(spec.name + "__")]
    seen: dict[str, list[forked.Result]] = {}

    def matches(name: str, exact: bool) -> bool:
        mistaken = Verdict(spec.exercise, "")
        alike = _alike(spec, answer, seen[name], name, exact)
        return alike and judge(spec, mistaken, right, seen[name], name).outcome != "right"

    for name, results in _see(spec, settings, known):
        seen[name] = results
        if matches(name, exact=True):
            return name
    # a second spelling may send the same by other means
    return next((name for name in known if spec.budget is not None and matches(name, exact=False)), None)


def _see(spec: Spec, settings: Settings, names: list[str]) -> Iterator[tuple[str, list[forked.Result]]]:
    """All in one child; where that does not come back, and for clusters (a lost one is lost), each in its own."""
    path = spec.folder / "mistakes.py"

    def look(chosen: list[str]) -> Callable[[], Any]:
        return lambda: observe.observe_file(spec, settings.seed, path, chosen)

    if not settings.fork:
        yield from ((name, [forked.Result("ok", value=look([name])())]) for name in names)
        return
    if spec.processes == 1 and names:
        results = forked.run(look(names), 1, spec.devices, max(LIMIT, settings.limit), settings.memory)
        if results[0].status == "ok":
            yield from ((name, results) for name in names)
            return
    jobs: list[forked.Job] = []
    for n, name in enumerate(names):
        while len(jobs) < min(n + 2, len(names)):  # one ahead
            chosen = look([names[len(jobs)]])
            jobs.append(forked.start(chosen, spec.processes, spec.devices, LIMIT, settings.memory, PATIENCE))
        yield name, forked.wait(jobs[n])


def _alike(spec: Spec, answer: list[forked.Result], mistake: list[forked.Result], name: str, exact: bool) -> bool:
    if len(answer) != len(mistake):  # of a lost cluster only this process's part is known
        return False
    for a, b in zip(answer, mistake, strict=True):
        if a.status != b.status:
            return False
        if a.status != "ok":
            continue
        if ("load" in a.value) or ("load" in b.value):
            return False
        mine, theirs = a.value["functions"].get(spec.name), b.value["functions"].get(name)
        if mine is None or theirs is None:
            return False
        if not all(_same_case(spec, x, y, name, exact) for x, y in zip(mine, theirs, strict=True)):
            return False
    return True


def _same_case(spec: Spec, a: dict[str, Any], b: dict[str, Any], name: str, exact: bool) -> bool:
    if "error" in a or "error" in b:
        return "error" in a and "error" in b and _behaviour(a["error"], spec) == _behaviour(b["error"], spec, name)
    if "value" in spec.compare and difference(a["value"], b["value"], spec.tolerance):
        return False
    if "placement" in spec.compare and (
        difference(a["value"], b["value"], spec.tolerance) or placement(a["value"], b["value"])
    ):
        return False
    if "printed" in spec.compare and a["printed"] != b["printed"]:
        return False
    if exact and spec.budget is not None:
        return _bill(a) == _bill(b)
    return spec.budget is None or _total(a) == _total(b)


def _behaviour(error: dict[str, Any], spec: Spec, name: str = "") -> tuple[str, str]:
    text = error["text"].replace(name, spec.name) if name else error["text"]
    for fault, words in FAULTS.items():
        if words.search(text):
            return "fault", fault
    return error["type"], masked(text)


def _bill(case: dict[str, Any]) -> Any:
    return sorted(map(str, case.get("traffic", [])))


def _total(case: dict[str, Any]) -> Any:
    return {op for op, _, _ in case.get("traffic", [])}, case.get("total")
