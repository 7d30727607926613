"""The checks behind `pytest lessons/`: what a chapter's test file may use.

A chapter's tests take the fixture `check`; see `lessons/checking/spec.py` for what it accepts.
"""

from lessons.checking.inputs import array, normal
from lessons.checking.spec import Budget

__all__ = ["Budget", "array", "normal"]
