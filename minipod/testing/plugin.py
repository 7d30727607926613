"""Provide the pytest markers `devices`, `processes`, `hosts` and `fault` for tests that run in their own cluster.

    pytest_plugins = ["minipod.testing.plugin"]    # in the conftest.py at the top; or pytest -p minipod.testing.plugin

A test without these markers runs as usual.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest import runner  # `runtestprotocol`, which pytest-forked and pytest-rerunfailures call, too

from minipod import devices
from minipod.testing import in_process, outcome
from minipod.testing.in_process import HERE
from minipod.testing.markers import MARKERS, Unusable, Wanted, wanted
from minipod.testing.plans import OPTION, Plans

if TYPE_CHECKING:
    from minipod.testing.zygote import Zygote

WANTED = pytest.StashKey[Wanted | Unusable]()
ZYGOTE: "pytest.StashKey[Zygote]" = pytest.StashKey()
START = 120.0  # seconds for `import jax` and a cluster on a busy machine, beside those of the test
NO_FORK = "this system has no os.fork: on Windows, use WSL2"
LOADED_LATE = (
    "the plug-in minipod.testing.plugin was loaded too late: name it in pytest_plugins of the top conftest.py, or run "
    "pytest -p minipod.testing.plugin"
)
TOO_LATE = (
    "JAX had started its devices before the test: make arrays and ask for devices in tests and fixtures, not at the "
    "top level of {name}, a conftest.py or a plug-in"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "write the figures of plans.check into the committed files instead of comparing them"
    parser.getgroup("minipod").addoption(OPTION, action="store_true", dest="update_plans", help=text)


def pytest_configure(config: pytest.Config) -> None:
    for line in MARKERS:
        config.addinivalue_line("markers", line)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before collection, fork a process that can still collect if a module starts JAX while it is imported."""
    option = session.config.option
    leads = getattr(option, "dist", "no") != "no" and not hasattr(session.config, "workerinput")
    if not option.collectonly and not leads and hasattr(os, "fork"):
        from minipod.testing.zygote import Early  # only where tests are run: pytest loads this module in every run

        session.config.stash[ZYGOTE] = Early(session)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """After collection, before any test runs, start the process that forks tests with a marker."""
    chosen = session.stash[in_process.CHOSEN] = {}
    for item in session.items:
        try:
            asked = wanted(item)
        except Unusable as error:
            item.stash[WANTED] = error
            continue
        if asked:
            item.stash[WANTED] = asked
            chosen[item.nodeid] = item, asked
    early = session.config.stash.get(ZYGOTE, None)
    if early is None or (chosen and devices.have_started()):
        return  # no tests are run here, or nothing can be forked, or this is the process that collects one file
    early.close()
    del session.config.stash[ZYGOTE]
    if chosen:
        from minipod.testing.zygote import Zygote

        session.config.stash[ZYGOTE] = Zygote(chosen)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if zygote := session.config.stash.get(ZYGOTE, None):
        del session.config.stash[ZYGOTE]
        zygote.close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if HERE in item.config.stash:  # this is a process of the test
        runner.runtestprotocol(item, nextitem=None)
        return True
    asked = item.stash.get(WANTED, None)
    if asked is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in [*_reports(item, asked), *outcome.torn_down(item, nextitem)]:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _reports(item: pytest.Item, asked: Wanted | Unusable) -> list[pytest.TestReport]:
    if isinstance(asked, Unusable):
        return [outcome.failed(item, str(asked))]
    zygote = item.config.stash.get(ZYGOTE, None)
    if zygote is None:
        return [outcome.failed(item, LOADED_LATE) if hasattr(os, "fork") else outcome.skipped(item, NO_FORK)]
    from minipod.testing.zygote import NO_HOSTS, STARTED, GivenUp, Lost

    try:
        results = zygote.ask(item, asked.seconds + START)
    except Lost as error:
        return [outcome.failed(item, str(error))]
    except GivenUp as error:
        return outcome.given_up(item, str(error), error.results)
    if isinstance(results, str) and results.startswith(NO_HOSTS):
        return [outcome.skipped(item, results.removeprefix(NO_HOSTS))]
    if isinstance(results, str):
        return [outcome.failed(item, TOO_LATE.format(name=item.path.name) if results == STARTED else results)]
    outcome.warn(item, results)
    reports = outcome.reports(item, results)
    if item.config.option.capture == "no":
        print(*(f"[{title}]\n{text.rstrip()}\n" for title, text in reports[-1].sections), sep="", end="")
    return reports


@pytest.fixture
def shared_tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Return a folder that all processes of the test share; in an ordinary test, `tmp_path`."""
    here = request.config.stash.get(HERE, None)
    if here is None:
        yield tmp_path
        return
    folder = here.shared / "tmp"
    folder.mkdir(exist_ok=True)
    yield folder


@pytest.fixture
def plans(request: pytest.FixtureRequest) -> Plans:
    """Compare what programs send, hold and compute with `plans/NAME.json`, next to the test file NAME.py."""
    here = request.config.stash.get(HERE, None)
    path = request.path.parent / "plans" / f"{request.path.stem}.json"
    return Plans(path, request.config.option.update_plans, writes=here is None or here.process == 0)
