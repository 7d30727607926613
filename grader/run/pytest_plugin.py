"""Extend `pytest lessons/`: options, outcomes and summary. Only calls of tests that use `check` are replaced."""

import contextlib
import dataclasses
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from grader.exercise import answers, blanks, chapters, progress
from grader.exercise.spec import Recorder
from grader.home import HERE, home
from grader.messages import languages, say
from grader.run import checking, outer_cluster, own_devices, summary
from grader.run.lesson_items import arguments_of, exercise_of, is_check, is_for_cluster, recorder_of, spec_of
from grader.run.options import lang_of, settings_of
from grader.run.pytest_run import PytestRun, PytestVerdict
from grader.run.warm_up import for_good, warm_up
from grader.say.blocks import MARKS
from minipod import forked
from minipod.cluster.place import TwoLaunchers, place
from minipod.processes import environment

LOOKAHEAD = 2  # exercises whose children are started while the one before is still at work


RUN = pytest.StashKey[PytestRun]()
READ = pytest.StashKey[checking.Reader]()  # the answers as they were when the run began: one may change the files
VERDICT = pytest.StashKey[PytestVerdict]()


class NotRight(Exception):
    """An exception that carries a verdict that is not right through pytest's machinery."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lessons", "the lessons' exercises")
    group.addoption("--answers", metavar="DIR", help="folder with files such as ch03_sharding.py (default: answers/)")
    group.addoption("--solutions", action="store_true", help="check the solutions: the same as --answers solutions")
    group.addoption("--lang", metavar="LANG", help=f"language: one of {languages()} (default: from the locale)")
    group.addoption("--hint", action="store_true", help="show the next hint of the next exercise")
    group.addoption("--seed", metavar="N", help="repeat a run with the inputs drawn from this seed")
    group.addoption("--report", metavar="FILE.json", help="write the outcomes to this file")
    group.addoption(
        "--limit",
        metavar="SECONDS",
        help="wall-clock time limit for an answer (default: 20; with --device real: 120)",
    )
    group.addoption(
        "--device",
        metavar="KIND",
        default="simulated",
        help="simulated, or real: run on this machine's own devices (default: simulated)",
    )
    group.addoption("--memory", metavar="GiB", default="2", help="memory limit of each process (default: 2)")
    group.addoption("--no-fork", action="store_true", help="run the answers in this process, for use with a debugger")
    group.addoption(
        "--no-compile-cache", action="store_true", help="ignore the caches of earlier runs, for measurements"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "processes(n, devices=4): run the exercise in n processes of one cluster")
    # a folder that cannot be written to has no pytest cache, and needs none
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestCacheWarning")
    if config.option.importmode == "prepend":
        config.option.importmode = "importlib"  # every lesson has a test_exercises.py
    lang = lang_of(config)
    try:
        place()
    except TwoLaunchers as error:
        raise pytest.UsageError(say("two-launchers", lang, launchers=error)) from None
    real = config.option.device == "real"  # then the settings say which devices these are
    left_aside = {} if real else environment.cleanse()
    root = _above_lessons(config.rootpath)
    run = PytestRun(root, settings_of(config, root), lang)
    config.stash[RUN], config.stash[READ] = run, functools.cache(answers.read)
    if not hasattr(config, "workerinput") and not config.option.collectonly and not config.option.answers:
        try:
            run.notes = blanks.prepare(run.root / "lessons", run.settings.answers, lang)
        except OSError as error:
            raise pytest.UsageError(blanks.not_copied(error, lang)) from None
    if left_aside and place().processes == 1:  # a launcher's own settings go without a word
        run.notes.append(say("left-aside", lang, names=", ".join(left_aside)))
    if config.option.hint:
        config.option.maxfail = 1
    if _helps():
        config.option.report, config.option.verbose = None, -2


def pytest_report_header(config: pytest.Config) -> list[str]:
    run = config.stash[RUN]
    if machine := run.settings.machine:
        run.notes.append(say("real-header", run.lang, devices=machine, tolerance=f"{own_devices.TOLERANCE:g}"))
    return [*run.notes, say("seed", run.lang, seed=run.settings.seed)]


@pytest.fixture
def check(request: pytest.FixtureRequest) -> Recorder:
    """Provide the fixture that an exercise's test calls once; see grader/exercise/spec.py."""
    return recorder_of(request.node)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore drafts, and every test_NAME.py that is shown on a page."""
    if collection_path.is_dir():
        return True if chapters.is_draft(collection_path) else None
    shown = (collection_path.parent / chapters.FILE).exists() and collection_path.name != progress.TESTS
    return True if shown else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """Import the lessons' tests, and with them JAX."""
    with for_good():
        return (yield)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --hint, leave out exercises known to be right, or all if the next exercise is known.

    In a cluster, two-process exercises come first, so that the processes meet; process 0 does the others, and reports.
    """
    run = config.stash[RUN]
    for lesson in {item.path.parent.name for item in items if is_check(item)}:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            config.stash[READ](run.settings.answers / f"{lesson}.py")
    if place().processes > 1:
        items.sort(key=lambda item: not is_for_cluster(item))
        if _helps():
            items[:] = [item for item in items if is_for_cluster(item)]
    if not config.option.hint:
        return
    own_answers = not config.option.answers
    state = progress.load_state(run.settings.answers) if own_answers else {}
    checks = [i for i in items if is_check(i)]
    for item in checks:
        outcome = progress.cached_outcome(run.settings.answers, exercise_of(item), state)
        if outcome is None:
            return
        if outcome != "right":
            run.hint_for = exercise_of(item)
            items.clear()
            return
        items.remove(item)
    run.hint_needless = bool(checks)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not is_check(pyfuncitem):
        return None
    run = pyfuncitem.config.stash[RUN]
    _warm_up(run, pyfuncitem.config)
    under_way = run.started.pop(pyfuncitem.nodeid, None) or _begin(run, pyfuncitem)
    if run.settings.fork and not run.settings.machine:
        _start_following(run, pyfuncitem)
    verdict = checking.finish(under_way)
    text = checking.in_words(under_way, run.lang)
    report = verdict.exercise, verdict.outcome, verdict.mistake, text, verdict.line, under_way.fingerprint
    pyfuncitem.stash[VERDICT] = PytestVerdict(*report, verdict.reason)
    if verdict.outcome == "skipped":
        pytest.skip(text)
    if verdict.outcome != "right":
        raise NotRight(text)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if call.when == "call" and VERDICT in item.stash:
        report.verdict = dataclasses.asdict(item.stash[VERDICT])  # plain: under xdist it goes to another process
        if call.excinfo and call.excinfo.errisinstance(NotRight):
            report.longrepr = item.stash[VERDICT].message
    return report


def _verdict(report: Any) -> PytestVerdict | None:
    """Return the verdict that `pytest_runtest_makereport` has put into the report."""
    data = getattr(report, "verdict", None)
    return PytestVerdict(**data) if data else None


def pytest_report_teststatus(report: Any, config: pytest.Config) -> Any:
    if _helps():
        return "", "", ""  # process 0 tells
    verdict = _verdict(report)
    if not verdict or verdict.outcome not in MARKS:
        return None
    letter, colour = MARKS[verdict.outcome]
    word = say(verdict.outcome, config.stash[RUN].lang)
    return word, letter, (word.upper(), {colour: True})


class _Ledger:
    """A recorder of verdicts as they arrive, under xdist from the workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: Any) -> None:
        if verdict := _verdict(report):
            run = self.config.stash[RUN]
            run.verdicts.append(verdict)
            _write_report(self.config)


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(_Ledger(session.config))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End everything that still runs; set the status to 0 only if everything that was checked is right."""
    forked.stop_all()
    config = session.config
    run = config.stash[RUN]
    if run.own_cache:
        run.own_cache.cleanup()
    if run.worker:
        run.worker.stop()
    if hasattr(config, "workerinput"):
        return
    if _helps():
        session.exitstatus = pytest.ExitCode.OK
        return
    _write_report(config)
    if run.verdicts and not config.option.answers:
        known = (v for v in run.verdicts if not (run.settings.machine and v.outcome == "skipped"))
        outcomes = {v.exercise: (v.outcome, v.answer) for v in known}
        run.warning = progress.save_state(run.settings.answers, outcomes, run.lang)
    well = ("right", "skipped") if run.settings.machine else ("right",)
    unsolved = run.hint_for or any(v.outcome not in well for v in run.verdicts)
    if unsolved and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    run = config.stash[RUN]
    if not config.option.collectonly and not _helps():
        summary.write(terminalreporter, run, bool(config.option.hint))


def _above_lessons(rootdir: Path) -> Path:
    """Return the folder that contains lessons/, even if an editor made a folder inside it pytest's root."""
    return next((p for p in (rootdir, *rootdir.parents) if (p / "lessons" / "conftest.py").exists()), HERE)


def _write_report(config: pytest.Config) -> None:
    if config.option.report:
        run = config.stash[RUN]
        hints = progress.hints_given(run.settings.answers)
        rows = [
            {
                "exercise": verdict.exercise,
                "outcome": verdict.outcome,
                "mistake": verdict.mistake,
                "message": verdict.message,
                "hints": hints.get(verdict.exercise, 0),  # that the learner has seen
            }
            for verdict in summary.in_order(run)
        ]
        text = json.dumps(rows, indent=1, ensure_ascii=False)
        path = config.invocation_params.dir / config.option.report
        path.write_text(text + "\n", encoding="utf-8")


def _warm_up(run: PytestRun, config: pytest.Config) -> None:
    if run.warm:
        return
    run.warm = True
    if config.option.no_compile_cache:
        run.own_cache = tempfile.TemporaryDirectory()  # an answer still finds what its solution compiled
    warm_up(run.own_cache.name if run.own_cache else home(run.root) / ".cache" / "jax")


def _start_following(run: PytestRun, item: pytest.Function) -> None:
    items = item.session.items
    at = items.index(item) + 1
    for following in items[at : at + LOOKAHEAD]:
        if is_check(following) and following.nodeid not in run.started:
            if arguments_of(following) == ("check",):  # other fixtures are not set up yet
                run.started[following.nodeid] = _begin(run, following)


def _begin(run: PytestRun, item: pytest.Item) -> checking.Check:
    if not is_for_cluster(item) or not run.settings.fork:
        return checking.begin(spec_of(item), run.settings, read=item.config.stash[READ])
    specs = [spec_of(i) for i in item.session.items if is_for_cluster(i)] if run.worker is None else run.worker.specs
    if run.worker is None:
        run.worker = outer_cluster.Worker(specs, run.settings)
        run.settings.seed = run.worker.seed
    spec = next(s for s in specs if s.exercise == exercise_of(item))
    joined = run.worker.failed_in != "start"  # a pair on this machine will do where the cluster never came up
    return checking.begin(spec, run.settings, run.worker if joined else None, read=item.config.stash[READ])


def _helps() -> bool:
    """Return whether this pytest only helps process 0 of a cluster, which reports."""
    return place().index > 0
