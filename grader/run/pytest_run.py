"""Hold the state of one `pytest lessons/` from start to summary, and report it."""

import functools
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from grader.exercise import progress
from grader.exercise.spec import Settings
from grader.run import checking, outer_cluster
from grader.say.checked import Checked


@dataclass(frozen=True)
class PytestVerdict(Checked):
    """The verdict in the form that the summary needs. reason: a key of messages.toml."""

    reason: str


@dataclass
class PytestRun:
    """This pytest run: its settings, the checks under way, and the verdicts so far."""

    root: Path
    settings: Settings
    lang: str
    notes: list[str] = field(default_factory=list)  # what was done to the answers before the run, for its header
    started: dict[str, checking.Check] = field(default_factory=dict)
    verdicts: list[PytestVerdict] = field(default_factory=list)
    warning: str = ""  # why the outcomes could not be noted, in a sentence
    hint_for: str | None = None  # with --hint: the exercise, when no check is needed to know it
    hint_needless: bool = False  # with --hint: whether all that was collected is known to be right
    warm: bool = False
    worker: outer_cluster.Worker | None = None  # when pytest itself was started in a cluster
    own_cache: tempfile.TemporaryDirectory[str] | None = None

    @functools.cached_property
    def all_exercises(self) -> list[str]:
        """Return the exercises of every lesson, in the book's order; found once, since all tests have to be read."""
        return progress.all_exercises(self.root / "lessons")
