"""ch91_pair, solved."""

import numpy as np
from jax.experimental import multihost_utils


def everybody(x: np.ndarray) -> float:
    return float(multihost_utils.process_allgather(x).sum())
