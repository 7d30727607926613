"""What the tests train, and how it goes without interruptions."""

from pathlib import Path

import jax

from byte_lm.data import Batches
from byte_lm.model import Sizes
from byte_lm.training import Settings, Training

ROOT = Path(__file__).parents[1]
SETTINGS = Settings(Sizes(layers=1), text=str(ROOT / "LICENSE"))
STEPS = 8


def batches(mesh: jax.sharding.Mesh) -> Batches:
    return Batches(SETTINGS.text, SETTINGS.sizes.length, SETTINGS.batch, SETTINGS.seed, mesh)


def trained(mesh: jax.sharding.Mesh):
    """(the last state, the losses of all steps)"""
    training, reading = Training(SETTINGS, mesh), batches(mesh)
    state, losses = training.start(), []
    for _ in range(STEPS):
        state, value = training.step(state, next(reading))
        losses.append(float(value))
    return state, losses
