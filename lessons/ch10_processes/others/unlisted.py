"""Wrong answers of ch10_processes that its mistakes.py does not know, written after the checks were finished."""

import jax
import numpy as np
from jax.experimental import multihost_utils


def who_am_i__devices_themselves():
    return {
        "process": jax.process_index(),
        "processes": jax.process_count(),
        "mine": jax.local_devices(),
        "everyone": jax.device_count(),
    }


def who_am_i__another_key():
    return {
        "process_index": jax.process_index(),
        "processes": jax.process_count(),
        "mine": [d.id for d in jax.local_devices()],
        "everyone": jax.device_count(),
    }


def who_am_i__other_process():
    return {
        "process": 1 - jax.process_index(),
        "processes": jax.process_count(),
        "mine": [d.id for d in jax.local_devices()],
        "everyone": jax.device_count(),
    }


def global_sum__negative(mine):
    return -float(multihost_utils.process_allgather(mine).sum())


def global_sum__own_added_again(mine):
    return float(multihost_utils.process_allgather(mine).sum() + mine.sum())


def global_sum__not_returned(mine):
    multihost_utils.process_allgather(mine).sum()


def print_mean__two_decimals(xs):
    mean = float(xs.mean())
    if jax.process_index() == 0:
        print(f"mean {mean:.2f}")


def print_mean__sum_printed(xs):
    total = float(xs.sum())
    if jax.process_index() == 0:
        print(f"mean {total:.4f}")


def gather_for_all__columns_exchanged(mine):
    return multihost_utils.process_allgather(mine[:, ::-1], tiled=True)


def gather_for_all__processes_backwards(mine):
    everyone = multihost_utils.process_allgather(mine)
    return np.concatenate(list(everyone[::-1]))
