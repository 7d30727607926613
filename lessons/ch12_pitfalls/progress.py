"""What was asked for, what has finished, and all stacks when nothing does."""

import faulthandler
import sys
from collections import deque

import jax

AHEAD, PATIENCE = 2, 4  # results in flight; seconds, and minutes in real work
in_flight = deque()


def ask(name, function, *arguments):
    """The function's result; waits for the one that was AHEAD before it."""
    faulthandler.dump_traceback_later(PATIENCE)  # unless the next call comes
    print(f"line {sys._getframe(1).f_lineno}: {name}")
    result = function(*arguments)
    in_flight.append((name, result))
    if len(in_flight) > AHEAD:
        name, before = in_flight.popleft()
        jax.block_until_ready(before)
        print("     finished:", name)
    return result
