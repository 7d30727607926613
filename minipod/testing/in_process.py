"""Run pytest's own protocol in each process of a test, and return its reports as data."""

import contextlib
import json
import os
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minipod.processes.frames import is_own
from minipod.testing import faults
from minipod.testing.markers import Wanted

_kept: list[Any] = []


@dataclass
class Here:
    """This process, while it runs a test. shared: a folder that all processes of the test share."""

    process: int
    shared: Path


HERE = pytest.StashKey[Here]()
CHOSEN = pytest.StashKey[dict[str, tuple[pytest.Item, Wanted]]]()  # of a session: by node id what wants a cluster


class _Failures:
    """What pytest says of files that cannot be collected: `last` is the last error."""

    last = ""

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = str(report.longrepr).splitlines()
            self.last = ["", *lines, *(line[1:] for line in lines if line.startswith("E "))][-1].strip()


def collected(session: pytest.Session, file: str) -> tuple[dict[str, tuple[pytest.Item, Wanted]], str]:
    """Collect the tests of `file` that need a cluster, by node id, without reporting to plug-ins.

    The second value is the error of a file that cannot be collected, or "".
    """
    manager = session.config.pluginmanager
    for plugin in manager.get_plugins():
        # What would print, and what would tell the process that leads xdist's workers.
        if plugin is manager.getplugin("terminalreporter") or hasattr(plugin, "sendevent"):
            manager.unregister(plugin)
    _tell_only_pytest(session.config.hook.pytest_collectreport)  # a report of it has been made before
    manager.register(failures := _Failures())
    _uncaptured(session.config)
    session.perform_collect([file], genitems=True)
    return session.stash[CHOSEN], failures.last


class Heard:
    """The calls of plug-in hooks during a test, which are recorded here and made in pytest's process."""

    def __init__(self, config: pytest.Config):
        self.reports: list[pytest.TestReport] = []
        self.warnings: list[warnings.WarningMessage] = []
        hook: Any = config.hook
        starts, ends = hook.pytest_runtest_logstart, hook.pytest_runtest_logfinish
        for caller in (starts, hook.pytest_runtest_logreport, ends, hook.pytest_warning_recorded):
            _tell_only_pytest(caller)
        config.pluginmanager.register(self)
        self.warnings.clear()  # pytest repeats to a new plug-in what it has told before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        self.warnings.append(warning_message)


def _tell_only_pytest(caller: Any) -> None:
    """Remove a hook's implementations, except the session's: it counts failures, and a subtest asks it about -x."""
    for implementation in caller.get_hookimpls():
        if not isinstance(implementation.plugin, pytest.Session):
            caller._remove_plugin(implementation.plugin)  # not public


def run(item: pytest.Item, asked: Wanted, shared: Path, filters: list[Any]) -> dict[str, Any]:
    """Run the test in this process, from set-up to tear-down; return its `reports` and `warnings` as JSON data.

    The reports are in order, with those of subtests. filters: filters of the module `warnings` outside of tests.
    """
    import jax
    from _pytest import faulthandler

    process = jax.process_index()
    item.config.stash[HERE] = Here(process, shared)
    faults.arm([f for f in asked.faults if f.process == process], shared / f"struck{process}")
    _uncaptured(item.config)
    _without_debugger(item.config)
    if temporary := getattr(item.config, "_tmp_path_factory", None):
        folder = shared.parent / f"process{process}"
        folder.mkdir()
        temporary._basetemp = folder  # not public: two processes that number one folder are in each other's way
    item.config.stash[faulthandler.fault_handler_stderr_fd_key] = 2  # pytest's own copy is closed here
    warnings.filters[:] = filters  # type: ignore[index]  # JAX was started without any
    heard = Heard(item.config)
    to_data = item.config.hook.pytest_report_to_serializable
    try:
        # The hook, not the function: around it pytest turns warnings into errors, and explains comparisons.
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        reports = [to_data(config=item.config, report=report) for report in heard.reports]
    except Exception as error:  # a test's own errors are in its reports: this is a plug-in's or a conftest.py's
        error.add_note(_where_raised(error))
        raise
    missed = [fault.step for fault in faults.missed()]
    outcome = {"reports": reports, "warnings": [_warning(each) for each in heard.warnings], "missed": missed}
    return json.loads(json.dumps(outcome, default=str))  # a property may be anything: JUnit's file has str() of it


def _where_raised(error: Exception) -> str:
    """Return `in pytest_runtest_makereport at conftest.py:9`: the innermost line outside libraries, if there is one."""
    frames = [*traceback.extract_tb(error.__traceback__)]
    frame = next((frame for frame in reversed(frames) if is_own(frame.filename)), frames[-1])
    return f"in {frame.name} at {frame.filename}:{frame.lineno}"


def _warning(each: warnings.WarningMessage) -> dict[str, Any]:
    kind = each.category
    where = {"filename": each.filename, "lineno": each.lineno, "line": each.line}
    return {"module": kind.__module__, "name": kind.__qualname__, "text": str(each.message), **where}


def _uncaptured(config: pytest.Config) -> None:
    """Send all output to pytest's process, which keeps it even for a process that has to be killed.

    The files into which pytest captures are the parent's and closed here. `capsys` and `capfd` capture as usual.
    """
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None and capture._global_capturing is not None:
        _kept.append(capture._global_capturing)  # closing it would write its buffers a second time
        capture._global_capturing, capture._method = None, "no"
        capture.start_global_capturing()


def _without_debugger(config: pytest.Config) -> None:
    """Turn off --pdb, which would wait forever for a keyboard, and let the parent report a crash's stack."""
    with contextlib.suppress(ValueError, AssertionError):
        config.pluginmanager.unregister(name="pdbinvoke")
    os.environ.pop("PYTHONBREAKPOINT", None)
