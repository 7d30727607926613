"""Eight simulated devices in every test process, whichever test comes first."""

import os
import signal

from minipod.devices import simulate

os.environ["LESSONS_SURFACE_FAULTS"] = "1"  # the checker tells a fault of its own; here it has to fail
# A shell's background job ignores Ctrl-C, and so would what a test starts there.
signal.signal(signal.SIGINT, signal.default_int_handler)
simulate(8)


def pytest_collection_modifyitems(items):
    """The longest first, or all but one worker wait for them at the end."""
    items.sort(key=lambda item: "tests/lessons/" not in item.nodeid)
