"""Makes `pytest lessons/` the exercise runner."""

from grader.run.pytest_plugin import *  # noqa: F403 (pytest finds its hooks by name)
