"""Checkpoints that any number of processes write and read, with Orbax."""

import logging
import os
import re
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import jax
import orbax.checkpoint as ocp


def open_folder(folder):
    """The checkpoints in a folder that all processes share: the last two.

    Not asynchronous: a process that cannot write says so at once, in `save`.
    """
    options = ocp.CheckpointManagerOptions(
        max_to_keep=2, enable_async_checkpointing=False
    )
    return ocp.CheckpointManager(Path(folder).absolute(), options=options)


def save(manager, step, state):
    """Each process writes what its devices hold; it counts when all have."""
    kept = f"step {manager.latest_step()} is kept"
    with one_sentence(f"cannot write checkpoint {step}, {kept}"):
        manager.save(step, args=ocp.args.StandardSave(state))


def restore(manager, like):
    """(step, state): the latest, laid out as `like` is; (0, like) if none."""
    if not (steps := manager.all_steps()):
        return 0, like
    step, before = steps[-1], steps[-2] if steps[1:] else "the start"
    bad = manager.directory / str(step)
    with one_sentence(f"cannot read {bad}; remove it to go on from {before}"):
        asked = jax.tree.map(_described, like)
        return step, manager.restore(step, args=ocp.args.StandardRestore(asked))


def _described(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


@contextmanager
def one_sentence(what):
    """End the program with a sentence where Orbax would print fifty lines.

    Not by `sys.exit`: that waits for the others, and they wait in Orbax.
    """
    stderr, sys.stderr = sys.stderr, None  # what its threads print
    logging.disable(logging.ERROR)
    try:
        yield
    except Exception as error:  # of many types: the disk's, the format's
        words = re.sub(r" \[(tensorstore|os_error)(.|\n)*", "", str(error))
        reason = f"{type(error).__name__}: {words.split(': ')[-1]}"
        who = f"process {jax.process_index()}"
        print(who, what, f"({reason})", file=stderr, flush=True)
        # Process 0 goes last: without it JAX ends the others, with much ado.
        time.sleep(1 if jax.process_index() else 5)
        os._exit(1)
    sys.stderr = stderr
    logging.disable(logging.NOTSET)
