"""Measure the traffic of a test on several hosts."""

import os


def left_host() -> int:
    """Return the bytes, with headers, that this process's host (see the marker `hosts`) has sent over its link so far.

    The count includes the traffic of all other processes on the host. To measure a difference, synchronize the
    processes after the first call and again before the last. Raises RuntimeError in a test without that marker.
    """
    from minipod.hosts import namespaces  # only where it is asked: each run of pytest imports this module

    if not namespaces.moved():
        raise RuntimeError("this process is not on a simulated host: mark the test with processes(m) and hosts(n)")
    return namespaces.sent(os.getpid())
