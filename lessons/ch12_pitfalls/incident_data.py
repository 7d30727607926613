"""Where the batches of incident.py come from, and what can happen there."""

import os
import threading
import time

import jax
import numpy as np


def read(step, trouble):
    """f32[devices here, 2], or None for a batch that is left out."""
    if trouble == "broken":
        return None
    if trouble == "disk":
        wait_for_disk()
    if trouble == "retry":
        again(3600)
    if trouble == "lock":
        take(threading.Lock())
    return np.full((jax.local_device_count(), 2), step, np.float32)


def wait_for_disk():
    end, _ = os.pipe()
    os.read(end, 1)  # nobody writes: it does not return


def again(seconds):
    time.sleep(seconds)


def take(lock):
    lock.acquire()
    lock.acquire()  # the one who has it does not give it back
