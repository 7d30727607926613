"""What a test on several hosts can ask of its cable."""

import os


def left_host() -> int:
    """Bytes that have left this process's host so far over the cable of the marker `hosts`, headers included.

    What the host's other processes sent is in it: all must wait for each other after the first reading and before
    the last.
    RuntimeError in a test without that marker.
    """
    from minipod.hosts import namespaces  # only where it is asked: each run of pytest imports this module

    if not namespaces.moved():
        raise RuntimeError("left_host: this process is on no host of its own: the test has no marker hosts(n)")
    return namespaces.sent(os.getpid())
