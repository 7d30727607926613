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

CHECKED = {
    "exercise": "ch90_one.double",
    "outcome": "wrong",
    "mistake": None,
    "message": "no",
    "line": 3,
    "answer": "f0",
}
REQUESTS = [
    ({"id": 1, "check": "ch90_one.double"}, CheckRequest("ch90_one.double", 1)),
    ({"prepare": "ch90_one.double"}, PrepareRequest("ch90_one.double")),
]
REPLIES = [
    ({"ready": True, "exercises": ["ch90_one.double"]}, Ready(("ch90_one.double",))),
    ({"ready": True, "exercises": [], "notes": ["a", "b"]}, Ready((), ("a", "b"))),
    (
        {"id": 1, **CHECKED, "seed": 7, "seconds": 0.5},
        CheckReply("ch90_one.double", "wrong", None, "no", 3, "f0", id=1, seed=7, seconds=0.5),
    ),
    ({"id": "a", "superseded": True}, Superseded("a")),
    ({"id": None, "error": "not a request: 3"}, Failed(None, "not a request: 3")),
]


@pytest.mark.parametrize(("data", "request_"), REQUESTS, ids=str)
def test_a_request_there_and_back(data, request_):
    assert request_from_json(json.loads(json.dumps(data))) == request_
    assert request_.to_json() == data


@pytest.mark.parametrize(("data", "reply"), REPLIES, ids=str)
def test_a_reply_there_and_back(data, reply):
    assert reply_from_json(json.loads(json.dumps(data))) == reply
    assert reply.to_json() == data


def test_an_editor_may_leave_the_id_out_or_say_more():
    assert request_from_json({"check": "ch90_one.double", "from": "vim"}) == CheckRequest("ch90_one.double")


@pytest.mark.parametrize("data", [None, 3, [], {}, {"id": 1}, {"check": 3}, {"prepare": None}], ids=str)
def test_what_is_no_request_is_malformed(data):
    with pytest.raises(Malformed):
        request_from_json(data)


NO_REPLIES = [
    None,
    {},
    {"ready": True},
    {"ready": True, "exercises": [3]},
    {"ready": True, "exercises": [], "notes": 3},
    {"id": 1, **CHECKED},
    {"id": 1, **CHECKED, "seed": "7", "seconds": 0.5},
    {"id": 1, "error": None},
]


@pytest.mark.parametrize("data", NO_REPLIES, ids=str)
def test_what_is_no_reply_is_malformed(data):
    with pytest.raises(Malformed):
        reply_from_json(data)
