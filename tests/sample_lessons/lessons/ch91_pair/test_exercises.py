"""The checks of ch91_pair."""

import jax
import numpy as np
import pytest


@pytest.mark.processes(2, devices=4)
def test_everybody(check):
    def cases(rng):
        return [(rng.normal(size=(2, n)).astype(np.float32)[jax.process_index()],) for n in (3, 5)]

    check(cases)
