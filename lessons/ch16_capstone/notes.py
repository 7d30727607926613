"""A log for each process, of lines that can be put in order later."""

import time
from pathlib import Path

import jax
import numpy as np
from ending import one_sentence
from jax.experimental import multihost_utils

log = None  # this process's file
start = 0  # process 0's clock when this run began, in seconds


def begin(folder):
    """Open this process's log; of an earlier start, go on below it."""
    global log, start
    clock = np.int32(time.time())
    start = int(multihost_utils.broadcast_one_to_all(clock))
    Path(folder).mkdir(exist_ok=True)
    path = Path(folder) / f"{jax.process_index():03}.log"
    log = path.open("a", buffering=1)  # a line is written when it ends


def note(step, text, show=False):
    """A line of the log, of all processes; show: process 0 prints it, too."""
    me = jax.process_index()
    with one_sentence("cannot write its log"):
        print(time.time(), start, step, me, text, sep="\t", file=log)
    if show and me == 0:
        print(text, flush=True)
