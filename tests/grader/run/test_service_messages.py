"""What a screen and the checking process say to each other is the same on both sides, and other things are refused."""

import json

import pytest

from grader.run.service_messages import (
    CheckReply,
    CheckRequest,
    Failed,
    PrepareRequest,
    Ready,
    Superseded,
    reply_from_json,
    request_from_json,
)
from grader.see.wire import Malformed

CHECKED = {"exercise": "ch90_one.double", "outcome": "wrong", "mistake": None, "message": "no", "line": 3}
CHECKED["answer"] = "f0"
SAID = [
    (request_from_json, {"id": 1, "check": "ch90_one.double"}, CheckRequest("ch90_one.double", 1)),
    (request_from_json, {"prepare": "ch90_one.double"}, PrepareRequest("ch90_one.double")),
    (reply_from_json, {"ready": True, "exercises": ["ch90_one.double"]}, Ready(("ch90_one.double",))),
    (reply_from_json, {"ready": True, "exercises": [], "notes": ["a", "b"]}, Ready((), ("a", "b"))),
    (
        reply_from_json,
        {"id": 1, **CHECKED, "seed": 7, "seconds": 0.5},
        CheckReply("ch90_one.double", "wrong", None, "no", 3, "f0", id=1, seed=7, seconds=0.5),
    ),
    (reply_from_json, {"id": "a", "superseded": True}, Superseded("a")),
    (reply_from_json, {"id": None, "error": "not a request: 3"}, Failed(None, "not a request: 3")),
]
NO_REPLIES = [
    None,
    {},
    {"ready": True},
    {"ready": True, "exercises": [3]},
    {"ready": True, "exercises": [], "notes": 3},
]
NO_REPLIES += [{"id": 1, **CHECKED}, {"id": 1, **CHECKED, "seed": "7", "seconds": 0.5}, {"id": 1, "error": None}]


def test_what_is_said_there_and_back_and_an_editor_may_leave_the_id_out_or_say_more():
    for read, data, message in SAID:
        assert read(json.loads(json.dumps(data))) == message and message.to_json() == data
    assert request_from_json({"check": "ch90_one.double", "from": "vim"}) == CheckRequest("ch90_one.double")


def test_what_is_no_request_and_no_reply_is_malformed():
    none = [(request_from_json, data) for data in (None, 3, [], {}, {"id": 1}, {"check": 3}, {"prepare": None})]
    for read, data in [*none, *((reply_from_json, data) for data in NO_REPLIES)]:
        with pytest.raises(Malformed):
            read(data)
