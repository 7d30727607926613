"""Before the first step: is the folder ours, writable, and everybody's?"""

import contextlib
import fcntl
import os
import socket
import sys
from pathlib import Path

import jax
import numpy as np
from ending import PERSON
from jax.experimental import multihost_utils

held = []  # the lock: the kernel lets go of it when this process ends


def claim(folder):
    """Every process calls it; if one has a problem, all end with a sentence."""
    me, everyone = jax.process_index(), range(jax.process_count())
    token = np.random.default_rng().integers(2**31)
    token = multihost_utils.broadcast_one_to_all(np.int32(token))
    mine, problem = Path(folder) / f"probe-{token}-{me}", None
    try:
        os.makedirs(folder, exist_ok=True)
        mine.write_bytes(bytes(4096))
        if me == 0:
            lock(Path(folder) / "in-use")
    except OSError as error:
        problem = f"cannot use {folder}: {error.strerror}"
    try:
        all_or_none(problem)
        there = os.listdir(folder)
        unseen = [p for p in everyone if f"probe-{token}-{p}" not in there]
        who = ", ".join(map(str, unseen))
        problem = f"does not see in {folder} what process {who} wrote"
        all_or_none(f"{problem}: not shared" if unseen else None)
    finally:
        with contextlib.suppress(OSError):
            mine.unlink()


def lock(path):
    """Take it, or raise OSError. A lock whose owner is dead is free."""
    held.append(path.open("a+"))
    try:
        fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = path.read_text() or "another job"
        raise OSError(0, f"{owner} is training in it") from None
    held[-1].truncate(0)
    held[-1].write(f"process {os.getpid()} on {socket.gethostname()}")
    held[-1].flush()


def all_or_none(problem):
    """End every process, each with a sentence, if one has a problem."""
    bad = np.array([problem is not None])
    everyone = multihost_utils.process_allgather(bad, tiled=True)
    if problem:
        print(f"process {jax.process_index()} {problem}", flush=True)
    elif everyone.any():
        print(f"stopped because of process {everyone.argmax()}", flush=True)
    if everyone.any():
        sys.exit(PERSON)
