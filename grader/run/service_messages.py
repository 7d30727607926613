"""What a screen and grader/run/service.py say to each other, as JSON on a line each."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from grader.say.checked import Checked
from grader.see.wire import TAG, Malformed, decode


@dataclass(frozen=True)
class CheckRequest:
    """Check an exercise. id: whatever the reply is to carry."""

    exercise: str
    id: object = None

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "check": self.exercise}


@dataclass(frozen=True)
class PrepareRequest:
    """See an exercise's solution and its mistakes while there is nothing else to do; has no reply."""

    exercise: str

    def to_json(self) -> dict[str, Any]:
        return {"prepare": self.exercise}


@dataclass(frozen=True)
class Ready:
    """The first reply. notes: sentences for the learner."""

    exercises: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"ready": True, "exercises": list(self.exercises), **notes}


@dataclass(frozen=True)
class CheckReply(Checked):
    """A check is done. seed: of its inputs · seconds: how long it took"""

    id: object
    seed: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class Superseded:
    """A check was given up for another one."""

    id: object

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "superseded": True}


@dataclass(frozen=True)
class Failed:
    """A request was none, id None, or its exercise could not be checked."""

    id: object
    error: str

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "error": self.error}


Request = CheckRequest | PrepareRequest
Reply = Ready | CheckReply | Superseded | Failed


def request_from_json(data: Any) -> Request:
    """Raises Malformed for what is no request."""
    match data:
        case {"check": str(exercise)}:
            return CheckRequest(exercise, data.get("id"))
        case {"prepare": str(exercise)}:
            return PrepareRequest(exercise)
    raise Malformed("not a request")


def reply_from_json(data: Any) -> Reply:
    """Raises Malformed for what is no reply."""
    match data:
        case {"ready": True, "exercises": exercises}:
            return decode(Ready, {TAG: "Ready", "exercises": exercises, "notes": data.get("notes", [])})
        case {"id": number, "superseded": True}:
            return Superseded(number)
        case {"id": number, "error": str(error)}:
            return Failed(number, error)
        case {"outcome": str()}:
            return decode(CheckReply, {TAG: "CheckReply", **data})
    raise Malformed("not a reply")
