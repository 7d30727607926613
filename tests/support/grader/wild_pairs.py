"""As wild_answers.py, in two processes of four devices each. The task of each: 2 * n of a number.

Process 0 asks the other one (`together`) where it would wait for it.
"""

import os
import signal
import sys
import time

import jax
import numpy as np
from jax.experimental import multihost_utils


def together(n):
    return float(multihost_utils.process_allgather(np.float32(n))[0] * 2)


def right_together(n):
    return together(n)


def one_exits(n):
    if jax.process_index() == 1:
        os._exit(3)
    return together(n)


def one_crashes(n):
    if jax.process_index() == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    return together(n)


def one_hangs(n):
    while jax.process_index() == 1:
        pass
    return together(n)


def both_hang(n):
    time.sleep(99)


def one_prints(n):
    while jax.process_index() == 1:
        print("x" * 999)
    return together(n)


def one_fills_memory(n):
    kept = [together(n)]
    while jax.process_index() == 1:
        kept.append(np.empty(10**7))
    return together(n)


def one_closes(n):
    if jax.process_index() == 1:
        os.closerange(3, 999)
    return 2 * n


def one_quits(n):
    together(n)
    if jax.process_index() == 1:
        sys.exit("bye")
    return together(n)


def joins_again(n):
    jax.distributed.initialize("127.0.0.1:1", 2, jax.process_index(), initialization_timeout=1)
    return together(n)


def one_shuts_down(n):
    if jax.process_index() == 1:
        jax.distributed.shutdown()
    return 2 * n


def leaves_children(n):
    if not os.fork():
        os.setsid()
        time.sleep(99)
    return together(n)


def no_sleep(n):
    time.sleep = os._exit = None
    return together(n)


def last_right(n):
    return together(n)
