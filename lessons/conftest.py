"""Makes `pytest lessons/` the exercise runner: see checking/plugin.py."""

from lessons.checking.plugin import *  # noqa: F403 (pytest finds its hooks by name)
