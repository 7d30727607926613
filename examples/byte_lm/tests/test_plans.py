"""What the step sends, keeps and computes, held against plans/test_plans.json; pytest --update-plans writes it."""

import pytest
from common import SETTINGS

from byte_lm.layouts import make_mesh
from byte_lm.training import Training


@pytest.mark.devices(8)
@pytest.mark.parametrize("data, model", [(8, 1), (2, 4)])
def test_the_step_is_as_it_was(plans, data, model):
    training = Training(SETTINGS, make_mesh(data, model))
    plans.check(f"step, data={data}, model={model}", training.step, *training.described())
