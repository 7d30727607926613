"""Eight simulated devices in every test process, whichever test comes first."""

import os
import pickle
import signal
import sys

import pytest

from minipod.devices import simulate

os.environ["LESSONS_SURFACE_FAULTS"] = "1"  # the checker tells a fault of its own; here it has to fail
# A shell's background job ignores Ctrl-C, and so would what a test starts there.
signal.signal(signal.SIGINT, signal.default_int_handler)
simulate(8)
ENDED: list[str] = []  # internal errors
pytest_plugins = ["minipod.testing.plugin"]


def pytest_addoption(parser):
    parser.addoption("--since", metavar="COMMIT", help="only what a change since that commit can affect")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """With --since what is affected is found out once, for all workers."""
    if hasattr(config, "workerinput"):
        config.chosen = pickle.loads(config.workerinput["chosen"])
    elif commit := config.getoption("--since"):
        import since

        try:
            config.chosen = since.chosen(commit)
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None
    else:
        config.chosen = None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    node.workerinput["chosen"] = pickle.dumps(node.config.chosen)


def pytest_ignore_collect(collection_path, config):
    if config.chosen is not None and collection_path.suffix == ".py":
        return collection_path.relative_to(config.rootpath).as_posix() not in config.chosen or None
    return None


def pytest_collection_modifyitems(config, items):
    """With --since, the cases that are affected."""
    if config.chosen is not None:
        held = [item for item in items if config.chosen[item.nodeid.partition("::")[0]].hold(item.nodeid)]
        config.hook.pytest_deselected(items=[item for item in items if item not in {*held}])
        items[:] = held


def pytest_internalerror(excrepr):
    """Why a worker ended stands above xdist's own end of that: said again at the very end, it is seen."""
    ENDED.append(str(excrepr))


def pytest_unconfigure():
    if ENDED and "PYTEST_XDIST_WORKER" not in os.environ:
        last = "\n".join(ENDED[0].splitlines()[-20:])
        print(f"\nThe first of {len(ENDED)} internal errors ended with:\n{last}", file=sys.__stderr__)
