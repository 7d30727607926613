"""Cases that fork checks, in a fresh process for all of them: other tests of this one may have started JAX."""

from pathlib import Path

import pytest
from fresh_process import pass_in_one

HERE = Path(__file__).parents[2] / "support/grader"


@pytest.mark.parametrize("chosen", ["not long", pytest.param("long", marks=pytest.mark.long)])
def test_what_a_wrong_result_does_not_depend_on_and_who_has_which_devices(chosen):
    pass_in_one(HERE / "sensitivity_cases.py", str(HERE / "own_device_cases.py"), "-m", chosen, seconds=1800)
