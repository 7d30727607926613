"""The cases of forked_cases.py, in a fresh process: other tests of this one may have started JAX."""

from pathlib import Path

import jax
from fresh_process import pass_in_one

from minipod import forked


def test_every_case_of_forked_children_ends_as_it_should():
    pass_in_one(Path(__file__).parents[2] / "support/forked_cases.py", seconds=240)


def test_a_parent_in_which_jax_has_started_is_told_so():
    jax.devices()
    (result,) = forked.run(lambda: 1, devices=4)
    assert (result.status, result.ready) == ("raised", False)
    assert "before" in result.text
