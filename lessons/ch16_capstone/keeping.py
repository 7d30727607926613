"""Checkpoints of the night: whole or not at all, written in the background."""

from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp
import tensorstore as ts
from ending import one_sentence
from jax.experimental import multihost_utils

KEPT = 2


def open_folder(folder):
    """The checkpoints in a folder that all processes share: the last two."""
    options = ocp.CheckpointManagerOptions(max_to_keep=KEPT)
    return ocp.CheckpointManager(Path(folder).absolute(), options=options)


def save(manager, step, state, rest):
    """Copy the state, write it in the background; rest: plain numbers."""
    with one_sentence(f"cannot write checkpoint {step}"):
        both = ocp.args.Composite(
            state=ocp.args.StandardSave(state), rest=ocp.args.JsonSave(rest)
        )
        manager.save(step, args=both, force=True)


def finish(manager):
    """Wait until all that was saved is on the disk and counts."""
    with one_sentence("cannot finish the last checkpoint"):
        manager.wait_until_finished()


def restore(manager, like):
    """(step, state, rest) of the newest whole checkpoint; None if none."""
    step = newest(manager) if jax.process_index() == 0 else None
    step = int(multihost_utils.broadcast_one_to_all(np.int32(step or 0)))
    if step == 0:
        return None
    manager.reload()
    with one_sentence(f"cannot read {manager.directory / str(step)}"):
        both = ocp.args.Composite(
            state=ocp.args.StandardRestore(like), rest=ocp.args.JsonRestore()
        )
        found = manager.restore(step, args=both)
    return step, found["state"], found["rest"]


def newest(manager):
    """Its step; what was cut off is set aside. Process 0 alone asks."""
    for step in sorted(manager.all_steps(), reverse=True):
        path = Path(manager.directory) / str(step)
        if problem := cut_off(path):
            path.rename(path.with_name(f"cut-off-{step}"))
            print(f"checkpoint {step} is not whole ({problem}): set aside")
        else:
            return step
    return None


def cut_off(path):
    """What is wrong with a checkpoint, or "": everything is read once."""
    try:
        store = ts.KvStore.open(f"file://{path}/state/|ocdbt:").result()
        for key in store.list().result():
            store.read(key).result()
        (path / "rest/metadata").read_text()
        return ""
    except (ValueError, OSError) as error:
        return type(error).__name__
