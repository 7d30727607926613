"""Provide the checks behind `pytest lessons/`: everything that a chapter's test file may use.

A chapter's tests take the fixture `check`; see `grader/exercise/spec.py` for what it accepts.
"""

from grader.exercise.asked import Asked
from grader.exercise.inputs import array, drawn_mesh, fitting, float64, normal, place
from grader.exercise.spec import Budget
from minipod.traffic import sent

__all__ = ["Asked", "Budget", "array", "drawn_mesh", "fitting", "float64", "normal", "place", "sent"]
