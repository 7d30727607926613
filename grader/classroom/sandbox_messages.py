"""What is said between a sandbox and the process that grades: `wire` makes lines of JSON of it."""

from dataclasses import dataclass

from grader.see.observation import ProcessResult


class Request:
    """Any of the next two."""


@dataclass(frozen=True)
class See(Request):
    """Run an answer. limit: seconds · memory: GiB of each process."""

    exercise: str
    path: str
    source: str
    seed: int
    limit: float
    memory: float


@dataclass(frozen=True)
class Try(Request):
    """Say what can be done and reached in this sandbox."""

    paths: tuple[str, ...]


class Reply:
    """Any of the next three."""


@dataclass(frozen=True)
class Ready(Reply):
    """There may be requests."""


@dataclass(frozen=True)
class Results(Reply):
    """How each process of an answer ended, and what it saw."""

    results: tuple[ProcessResult, ...]


@dataclass(frozen=True)
class Reach(Reply):
    """How many processes of a pair started; which of the paths can be read, and which can be written."""

    started: int
    seen: tuple[str, ...]
    writable: tuple[str, ...]
