"""Reduce the outcomes of all processes of a test to one for pytest: the reports of the first that failed."""

import re
import sys
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from minipod.processes.frames import is_own
from minipod.ranges import counted, numbered

if TYPE_CHECKING:
    from minipod.forked import Result

KEEP = 20_000  # characters of what a process has written
# Kinds of failure, the one to show first: the process died; the test failed in it; it did so as expected; the process
# only waited for another one; the test passed, and should have failed.
CAUSE, OWN, EXPECTED, CONSEQUENCE, PASSED = range(5)
ONE_SKIPPED = "{skipped} in {where} of {n} ({why}): skip a test in every process, or in none"
_FRAME = re.compile(r'\s*File "(.+)", line (\d+) in (.+)')
# What gloo says at the start, and JAX's coordination service where a peer has gone, or was ended by us.
_LOG = re.compile(
    r"^\[Gloo\] Rank \d+ is connected.*\n"
    r"|^[IWEF]\d{4} [\d:.]+ +\d+ (?:preemption_sync_manager|coordination_\w+|client\.h).*\n"
    r"(?:(?:Additional GRPC error|:UNKNOWN:|\s*$).*\n?)*",
    re.MULTILINE,
)


def reports(item: pytest.Item, results: "list[Result]") -> list[pytest.TestReport]:
    """Return the reports of the process that failed first, or else of the first not struck by a fault."""
    of_each = [_reports(item, result) for result in results]
    standing = [process for process, result in enumerate(results) if result.status != "struck"]
    if not standing:
        return [failed(item, "a fault struck every process, and none finished the test", results[0].seconds)]
    failures = sorted(failure for p in standing if (failure := _failure(p, results[p], of_each[p])))
    kind, _, chosen = failures[0] if failures else (None, 0.0, standing[0])
    chosen_reports = of_each[chosen]
    shown = next((report for report in chosen_reports if report.failed), chosen_reports[-1])
    if kind == EXPECTED:
        if sum(failure[0] == EXPECTED for failure in failures) < len(standing):
            expected = _xfailed(chosen_reports)[0]
            expected.wasxfail = f"{expected.wasxfail} (in process {chosen} of {len(results)})".strip()
    elif kind is None:
        skips = {process: _skips(of_each[process]) for process in standing}
        if len({len(reasons) for reasons in skips.values()}) > 1:
            most = max(skips, key=lambda process: len(skips[process]))
            least = min(len(reasons) for reasons in skips.values())
            where = numbered("process", [process for process in standing if len(skips[process]) > least])
            skipped_only = "skipped more subtests" if least else "skipped only"
            why = ONE_SKIPPED.format(skipped=skipped_only, where=where, n=len(results), why=skips[most][-1])
            chosen_reports = [shown := failed(item, why, results[most].seconds)]
    elif len(results) > 1:
        _add_others(shown, chosen, results, of_each)
    elif len(chosen_reports) == 1:  # made here, not by pytest
        shown.longrepr = f"the process {shown.longrepr}"
    _gather_properties(chosen_reports, of_each)
    last = chosen_reports[-1]
    sections = [*last.sections, *(section for section in shown.sections if section not in last.sections)]
    for process, result in enumerate(results):
        if printed := _LOG.sub("", result.output).strip():
            sections.append((f"Output of process {process}", _cut(printed)))
    shown.sections = last.sections = sections
    return chosen_reports


def _failure(process: int, result: "Result", of_process: list[pytest.TestReport]) -> tuple[int, float, int] | None:
    """Return (kind, when, process), whose minimum is the failure to show; None for a process that passed."""
    first = next((report for report in of_process if report.failed), None)
    if first is None:
        return (EXPECTED, of_process[-1].stop, process) if _xfailed(of_process) else None
    if result.status != "ok":
        kind = CONSEQUENCE if result.status in ("hung", "left") else CAUSE
    else:
        kind = PASSED if _first_line(first.longrepr).startswith("[XPASS(strict)]") else OWN
    return kind, getattr(first, "stop", 0.0), process


def _reports(item: pytest.Item, result: "Result") -> list[pytest.TestReport]:
    if result.status != "ok":
        return [failed(item, _sentence(result), result.seconds)]
    make = item.config.hook.pytest_report_from_serializable
    made = [make(config=item.config, data=data) for data in result.value["reports"]]
    if not any(type(report) is pytest.TestReport for report in made):
        return [failed(item, "sent no report of the test: check the hooks of plug-ins and of conftest.py")]
    if (missed := result.value["missed"]) and all(each.passed for each in made):
        why = f"passed, but never called reach({missed[0]!r}), so its fault did not strike"
        return [failed(item, why, result.seconds)]
    subtests = sum(report.failed for report in made if type(report) is not pytest.TestReport)
    for report in made:  # JSON made lists of tuples
        report.location = tuple(report.location)
        report.user_properties = [tuple(pair) for pair in report.user_properties]
        if isinstance(report.longrepr, list):  # where a test was skipped
            report.longrepr = tuple(report.longrepr)
        if subtests and report.when == "call" and report.passed and type(report) is pytest.TestReport:
            report.outcome, report.longrepr = "failed", f"contains {counted(subtests, 'failed subtest')}"
    return made


def _xfailed(of_process: list[pytest.TestReport]) -> list[Any]:
    """Return the test's report, not a subtest's, if it failed as a marker or the test itself expected."""
    return [
        each for each in of_process if type(each) is pytest.TestReport and each.skipped and hasattr(each, "wasxfail")
    ]


def _skips(of_process: list[pytest.TestReport]) -> list[str]:
    """Return why the test, or its subtests, were skipped."""
    skipped = [report for report in of_process if report.skipped and not hasattr(report, "wasxfail")]
    return [str(each.longrepr[2] if isinstance(each.longrepr, tuple) else each.longrepr) for each in skipped]


def _gather_properties(shown: list[pytest.TestReport], of_each: list[list[pytest.TestReport]]) -> None:
    """Give the reports that are shown everything that `record_property` noted in any process."""
    for report in shown:
        for other in [other for own in of_each for other in own if other.when == report.when]:
            report.user_properties += [pair for pair in other.user_properties if pair not in report.user_properties]


def warn(item: pytest.Item, results: "list[Result]") -> None:
    """Pass the warnings of each process on to pytest."""
    for data in [data for result in results if result.status == "ok" for data in result.value["warnings"]]:
        category: Any = getattr(sys.modules.get(data["module"]), data["name"], None)
        try:
            message = category(data["text"])
            assert isinstance(message, Warning)
        except Exception:  # a class that is made within a test, or wants other arguments
            category, message = UserWarning, UserWarning(f"{data['name']}: {data['text']}")
        warning = warnings.WarningMessage(message, category, data["filename"], data["lineno"], line=data["line"])
        facts = {"warning_message": warning, "nodeid": item.nodeid, "when": "runtest", "location": None}
        item.ihook.pytest_warning_recorded.call_historic(kwargs=facts)


def given_up(item: pytest.Item, why: str, results: "list[Result] | str | None") -> list[pytest.TestReport]:
    """Report a test that failed because of `why`, raised while it ran, with the lines where its processes were."""
    made = reports(item, results) if isinstance(results, list) else []
    bad = next((report for report in made if report.failed), None)
    if bad is None:
        return [failed(item, why)]
    if isinstance(bad.longrepr, str):
        bad.longrepr = f"{why}\n{bad.longrepr}"
    return made


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
    """In pytest's process, tear down fixtures of earlier tests that no later test needs.

    A test's own protocol ends with this, but this test's protocol has run elsewhere. What a fixture raises is an error
    of `item`.
    """
    state = item.session._setupstate  # not public, and there is no other way
    ends = KeyboardInterrupt, pytest.exit.Exception
    call = pytest.CallInfo.from_call(lambda: state.teardown_exact(nextitem), "teardown", reraise=ends)
    return [pytest.TestReport.from_item_and_call(item, call)] if call.excinfo else []


def _sentence(result: "Result") -> str:
    """Describe the end of a process that has no reports of the test."""
    at = _where(result.text)
    if not result.ready and result.status in ("hung", "left", "died"):
        return "did not reach the test" + f": {result.text}" * bool(result.text)
    return {
        "hung": f"was still running after {round(result.seconds, 1):g} s{at}",
        "left": f"was still running after another process had ended{at}",
        "died": f"ended unexpectedly: {result.text}",
        "struck": "was struck by its fault",
        "printed": f"printed more than {result.text} and was stopped",
        "memory": f"used more than {result.text} of memory and was stopped",
        "raised": f"raised an error outside the test: {result.text}",
        "large": f"sent back more than {result.text} of reports",
    }.get(result.status, f"{result.status}: {result.text}")


def _where(stack: str) -> str:
    """Return `, at test_step.py:34 in test_sum`, the user's innermost line in faulthandler's text; "" without one."""
    for line in stack.splitlines():
        if (frame := _FRAME.match(line)) and is_own(frame[1]):
            return f", at {frame[1]}:{frame[2]} in {frame[3]}"
    return ""


def _add_others(
    report: pytest.TestReport,
    chosen: int,
    results: "list[Result]",
    of_each: list[list[pytest.TestReport]],
) -> None:
    """Add to a failure its process, and one line for each of the other processes."""
    lines: list[str] = []
    for process, (result, of_process) in enumerate(zip(results, of_each, strict=True)):
        if process != chosen:
            lines.append(
                f"process {process}: {_sentence(result) if result.status == 'struck' else _in_short(of_process)}"
            )
    title, text = f"this was process {chosen} of {len(results)}", "\n".join(lines)
    if isinstance(report.longrepr, str):
        report.longrepr = f"process {chosen} of {len(results)} {report.longrepr}\n{text}"
    elif report.longrepr is not None and hasattr(report.longrepr, "addsection"):
        report.longrepr.addsection(title, text)  # type: ignore[union-attr]
    else:
        report.sections.append((title, text))


def _in_short(of_process: list[pytest.TestReport]) -> str:
    """Describe the outcome of the test in one process, in a line."""
    if first := next((report for report in of_process if report.failed), None):
        return _first_line(first.longrepr)
    if expected := _xfailed(of_process):
        return f"failed as expected: {expected[0].wasxfail}".rstrip(": ")
    return (_skips(of_process) or ["passed"])[-1]


def _first_line(why: Any) -> str:
    crash = getattr(why, "reprcrash", None)
    return str(crash.message if crash else why).strip().partition("\n")[0]


def _cut(text: str) -> str:
    return text if len(text) <= KEEP else f"{text[:KEEP]}\n… cut here"
