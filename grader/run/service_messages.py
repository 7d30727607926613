"""Define the messages between a screen and grader/run/service.py, which `wire.encode` turns into lines of JSON."""

from dataclasses import dataclass

from grader.say.checked import Checked


class Request:
    """Any of the requests below."""


@dataclass(frozen=True)
class CheckRequest(Request):
    """Check an exercise. id: a number that the reply repeats."""

    exercise: str
    id: int = 0


@dataclass(frozen=True)
class PrepareRequest(Request):
    """Observe an exercise's solution and its mistakes while there is nothing else to do; there is no reply."""

    exercise: str


class Reply:
    """Any of the replies below."""


@dataclass(frozen=True)
class Ready(Reply):
    """The first reply. notes: sentences for the learner."""

    exercises: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckReply(Checked, Reply):
    """A check is done. seed: that of its inputs. seconds: its duration."""

    id: int
    seed: int
    seconds: float


@dataclass(frozen=True)
class Superseded(Reply):
    """A check was given up for a newer one."""

    id: int


@dataclass(frozen=True)
class Failed(Reply):
    """A message was not a request (id None), or its exercise could not be checked."""

    id: int | None
    error: str
