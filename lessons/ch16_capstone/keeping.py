"""Checkpoints of the night: whole or not at all, written in the background."""

import copy
import json
from pathlib import Path
from tempfile import mkdtemp

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
    rest = copy.deepcopy(rest)  # the training goes on to change its own
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
    with one_sentence(f"cannot read {manager.directory}"):
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
            # Its own empty folder: another night may have set one aside.
            path.rename(mkdtemp(prefix=f"cut-off-{step}-", dir=path.parent))
            print(f"checkpoint {step} is not whole ({problem}): set aside")
        else:
            return step
    return None


def cut_off(path):
    """What is wrong with a checkpoint, or "": everything is read once.

    Raises what the disk says where it refuses: that is not cut off.
    """
    state = path / "state"
    texts = [path / "_CHECKPOINT_METADATA", path / "rest/metadata"]
    texts += [state / "_METADATA", state / "_sharding"]
    texts += sorted((state / "array_metadatas").glob("*"))
    try:
        for text in texts:
            json.loads(text.read_text())
        (state / "manifest.ocdbt").read_bytes()  # without it: "no arrays"
        store = ts.KvStore.open(f"file://{state}/|ocdbt:").result()
        for key in store.list().result():
            store.read(key).result()
        return ""
    except (ValueError, FileNotFoundError) as error:
        if "os_error_code" in str(error):  # tensorstore's word for OSError
            raise
        return type(error).__name__
