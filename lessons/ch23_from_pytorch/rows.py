"""The rows of each step, as the two samplers dealt them."""

import json
from pathlib import Path

import numpy as np

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons/ch23_from_pytorch"
recorded = json.loads((lesson / "ddp.json").read_text("utf-8"))
ROWS, MICRO, LENGTH = 8, 2, 32
text = np.fromfile(lesson.parent / "ch09_training/text.txt", np.uint8)
table = text[: len(text) // (LENGTH + 1) * (LENGTH + 1)]
table = np.int32(table.reshape(-1, LENGTH + 1))


def batch(step):
    """[micro-batches, rows of all processes, LENGTH + 1]."""
    orders, need = recorded["order"], ROWS * MICRO
    epoch, at = divmod(step, len(orders[0][0]) // need)
    mine = slice(at * need, (at + 1) * need)
    dealt = [np.reshape(o[epoch][mine], (MICRO, ROWS)) for o in orders]
    return table[np.concatenate(dealt, axis=1)]
