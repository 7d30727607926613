"""Every program that plans.txt names: `large_18` is LARGE, 2**18 rows."""

from functools import partial

from stack import LARGE, SMALL, train

for rows in range(10, 22):
    globals()[f"small_{rows}"] = partial(train, size=SMALL, rows=2**rows)
    globals()[f"large_{rows}"] = partial(train, size=LARGE, rows=2**rows)


def copies(mesh):
    """Every device has all of LARGE."""
    return train(mesh, LARGE, 2**10, cut=None)


def kept(mesh):
    """What a layer gathers is kept for the backward pass."""
    return train(mesh, SMALL, 2**14, keep=True)
