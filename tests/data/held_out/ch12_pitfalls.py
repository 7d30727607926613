import jax
import numpy as np
from jax.experimental import multihost_utils


# what: JAX is believed to keep the order of a dict; its leaves come sorted by name, so they are put under the wrong names.
def sum_by_name(mine: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    sums = []
    for leaf in jax.tree.leaves(mine):
        everyone = multihost_utils.process_allgather(leaf)
        sums.append(np.asarray(everyone).sum(axis=0))
    return dict(zip(mine, sums))
