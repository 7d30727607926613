"""One outcome of all processes of a test, as pytest tells it: the reports of the one that failed first."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from minipod.processes.frames import is_own

if TYPE_CHECKING:
    from minipod.forked import Result

KEEP = 20_000  # characters of what a process has written
CAUSE, OWN, CONSEQUENCE = 0, 1, 2  # who died; who failed an assertion; who only waited for one of these
_FRAME = re.compile(r'\s*File "(.+)", line (\d+) in (.+)')
# What gloo says at the start, and JAX's coordination service where a peer has gone, or was ended by us.
_LOG = re.compile(
    r"^\[Gloo\] Rank \d+ is connected.*\n"
    r"|^[IWEF]\d{4} [\d:.]+ +\d+ (?:preemption_sync_manager|coordination_\w+|client\.h).*\n"
    r"(?:(?:Additional GRPC error|:UNKNOWN:|\s*$).*\n?)*",
    re.MULTILINE,
)


def reports(item: pytest.Item, results: "list[Result]") -> list[pytest.TestReport]:
    """Set-up, call and tear-down of the process that failed first, or of the first one, with what all have printed."""
    each = [_reports(item, result) for result in results]
    bad: list[tuple[int, float, int]] = []
    for process, (result, own) in enumerate(zip(results, each, strict=True)):
        if result.status == "struck":
            continue
        first = next((report for report in own if report.failed), None)
        if first:
            kind = OWN if result.status == "ok" else CONSEQUENCE if result.status in ("hung", "left") else CAUSE
            bad.append((kind, getattr(first, "stop", 0.0), process))
    standing = [process for process, result in enumerate(results) if result.status != "struck"]
    if not standing:
        return [failed(item, "no process was left: a fault struck each of them", results[0].seconds)]
    chosen = sorted(bad)[0][2] if bad else standing[0]
    told = each[chosen]
    shown = next((report for report in told if report.failed), told[-1])
    if len(results) > 1 and bad:
        _say_who(shown, chosen, {process for *_, process in bad}, results, each)
    sections = [*told[-1].sections]
    for process, result in enumerate(results):
        if written := _LOG.sub("", result.output).strip():
            sections.append((f"Output of process {process}", _cut(written)))
    shown.sections = sections
    if shown is not told[-1]:
        told[-1].sections = shown.sections
    return told


def _reports(item: pytest.Item, result: "Result") -> list[pytest.TestReport]:
    if result.status == "ok":
        make = item.config.hook.pytest_report_from_serializable
        made = [make(config=item.config, data=data) for data in result.value]
        for report in made:
            if isinstance(report.longrepr, list):  # where a test was skipped: a tuple, of which JSON made a list
                report.longrepr = tuple(report.longrepr)
        return made
    return [failed(item, _words(result), result.seconds)]


def failed(item: pytest.Item, why: str, seconds: float = 0.0) -> pytest.TestReport:
    marks: dict[str, Any] = {name: 1 for name in item.keywords}
    return pytest.TestReport(item.nodeid, item.location, marks, "failed", why, "call", (), seconds)


def skipped(item: pytest.Item, why: str) -> pytest.TestReport:
    marks: dict[str, Any] = {name: 1 for name in item.keywords}
    path, line, _ = item.location
    return pytest.TestReport(
        item.nodeid, item.location, marks, "skipped", (path, line or 0, f"Skipped: {why}"), "setup"
    )


def torn_down(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    """Tear down, in pytest's process, what tests before this one have set up and none after it needs.

    A test's own protocol ends with that, and this one's was run elsewhere. What a fixture raises is an error of `item`.
    """
    state = item.session._setupstate  # not public, and there is no other way
    ends = KeyboardInterrupt, pytest.exit.Exception
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(nextitem), "teardown", reraise=ends)
    return [pytest.TestReport.from_item_and_call(item, call)] if call.excinfo else []


def _words(result: "Result") -> str:
    at = _where(result.text)
    if not result.ready and result.status in ("hung", "left", "died"):
        return f"did not get as far as the test: {result.text or result.status}"
    return {
        "hung": f"still ran after {result.seconds:.0f} s{at}",
        "left": f"still ran when another had ended{at}",
        "died": f"ended itself: {result.text}",
        "struck": "was struck by its fault",
        "printed": f"printed more than {result.text}, and was ended",
        "memory": f"took more than {result.text} of memory, and was ended",
        "raised": f"raised outside of the test: {result.text}",
        "large": f"has reports of more than {result.text}",
    }.get(result.status, f"{result.status}: {result.text}")


def _where(stack: str) -> str:
    """`: test_step.py:34 in test_sum`, the innermost line of the user's own in faulthandler's words; "" without one."""
    for line in stack.splitlines():
        if (frame := _FRAME.match(line)) and is_own(frame[1]):
            return f", at {frame[1]}:{frame[2]} in {frame[3]}"
    return ""


def _say_who(
    report: pytest.TestReport,
    chosen: int,
    bad: set[int],
    results: "list[Result]",
    each: list[list[pytest.TestReport]],
) -> None:
    """Say below a failure in which process it was, and in a line each what became of the others."""
    lines: list[str] = []
    for process, (result, own) in enumerate(zip(results, each, strict=True)):
        if process == chosen:
            continue
        first = next((r for r in own if r.failed), None)
        said = "passed" if process not in bad else _first_line(first.longrepr if first else "")
        lines.append(f"process {process}: {_words(result) if result.status == 'struck' else said}")
    title = f"this was process {chosen} of {len(results)}"
    if isinstance(report.longrepr, str):
        report.longrepr = f"process {chosen} of {len(results)} {report.longrepr}\n" + "\n".join(lines)
    elif report.longrepr is not None and hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection(title, "\n".join(lines))  # type: ignore[union-attr]
    else:
        report.sections.append((title, "\n".join(lines)))


def _first_line(why: Any) -> str:
    crash = getattr(why, "reprcrash", None)
    return str(crash.message if crash else why).strip().partition("\n")[0]


def _cut(text: str) -> str:
    return text if len(text) <= KEEP else f"{text[:KEEP]}\n… cut here"
