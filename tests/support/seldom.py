"""Cases of a test that say once more what another case has said: for the weekly run alone."""

from typing import Any

import pytest


def rarely(*cases: Any) -> list[Any]:
    """The cases, or what `pytest.param` made of them, marked `rarely`."""
    made = [case if hasattr(case, "marks") else pytest.param(case) for case in cases]
    return [pytest.param(*case.values, marks=[*case.marks, pytest.mark.rarely], id=case.id) for case in made]
