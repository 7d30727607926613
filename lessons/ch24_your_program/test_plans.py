"""What the step sends, keeps and computes, held against a file."""

import pytest
from test_step import one_step
from train import whole_mesh


@pytest.mark.devices(8)
def test_the_step_is_as_it_was(plans):
    plans.check("step", *one_step(whole_mesh()))
