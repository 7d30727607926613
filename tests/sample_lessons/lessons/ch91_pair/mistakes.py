"""Known wrong answers of ch91_pair."""

import jax
from jax.experimental import multihost_utils


def everybody__own(x):
    return float(x.sum())


def everybody__one_alone(x):
    if jax.process_index() == 0:
        return float(multihost_utils.process_allgather(x).sum())
    return 0.0
