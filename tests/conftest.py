"""Eight simulated devices in every test process, whichever test comes first."""

import os
import signal
import sys

from minipod.devices import simulate

os.environ["LESSONS_SURFACE_FAULTS"] = "1"  # the checker tells a fault of its own; here it has to fail
# A shell's background job ignores Ctrl-C, and so would what a test starts there.
signal.signal(signal.SIGINT, signal.default_int_handler)
simulate(8)
ENDED: list[str] = []  # internal errors
pytest_plugins = ["minipod.testing.plugin"]


def pytest_collection_modifyitems(items):
    """The longest first, or all but one worker wait for them at the end."""
    items.sort(key=lambda item: "tests/lessons/" not in item.nodeid)


def pytest_internalerror(excrepr):
    """Why a worker ended stands above xdist's own end of that: said again at the very end, it is seen."""
    ENDED.append(str(excrepr))


def pytest_unconfigure():
    if ENDED and "PYTEST_XDIST_WORKER" not in os.environ:
        last = "\n".join(ENDED[0].splitlines()[-20:])
        print(f"\nThe first of {len(ENDED)} internal errors ended with:\n{last}", file=sys.__stderr__)
