"""The cases of sensitivity_cases.py, in a fresh process: other tests of this one may have started JAX."""

from pathlib import Path

import pytest
from fresh_process import pass_in_one

CASES = Path(__file__).parents[2] / "support/grader/sensitivity_cases.py"


@pytest.mark.parametrize("chosen", ["not long", pytest.param("long", marks=pytest.mark.long)])
def test_what_a_wrong_result_does_not_depend_on(chosen):
    pass_in_one(CASES, "-m", chosen, seconds=900)
