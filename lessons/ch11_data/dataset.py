"""A data set of several files, dealt out to the processes."""

import sys
from pathlib import Path

import jax
import numpy as np
from jax.experimental import multihost_utils


def my_files(folder):
    """Paths of this process's files: every n-th of the list, from its own."""
    names = (Path(folder) / "index.txt").read_text().split()
    mine = names[jax.process_index() :: jax.process_count()]
    return [Path(folder) / name for name in mine]


def load_mine(folder):
    """The rows of my files, f32[rows, 4]; all stop where one cannot read."""
    parts, problem = [np.zeros((0, 4), np.float32)], None
    try:
        parts += [np.load(file) for file in my_files(folder)]
    except (OSError, ValueError, EOFError) as error:
        problem = f"cannot read its part of the data: {error}"
    all_or_none(problem)
    return np.concatenate(parts)


def all_or_none(problem):
    """End every process, each with a sentence, if one has a problem."""
    bad = np.array([problem is not None])
    everyone = multihost_utils.process_allgather(bad, tiled=True)
    if problem:
        sys.exit(f"process {jax.process_index()} {problem}")
    if everyone.any():
        sys.exit(f"stopped because of process {everyone.argmax()}")
