"""Find the exercises among pytest's items: the tests that take the fixture `check`."""

from typing import Any

import pytest

from grader.exercise import exercises
from grader.exercise.spec import Recorder, Spec
from minipod.cluster.place import place


def is_check(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "check" in arguments_of(item)


def arguments_of(item: Any) -> tuple[str, ...]:
    return item._fixtureinfo.argnames


def exercise_of(item: pytest.Item) -> str:
    return f"{item.path.parent.name}.{item.name.removeprefix('test_')}"


def recorder_of(item: pytest.Item) -> Recorder:
    name = item.name.removeprefix("test_")
    return exercises.recorder(item.path.parent, name, item.get_closest_marker("processes"))


def spec_of(item: Any) -> Spec:
    arguments = {name: item.funcargs[name] for name in arguments_of(item) if name != "check"}
    spec = exercises.described(lambda check: item.obj(**arguments, check=check), recorder_of(item))
    spec.again = lambda: spec_of(item)
    return spec


def is_for_cluster(item: pytest.Item) -> bool:
    processes = place().processes
    return processes > 1 and is_check(item) and recorder_of(item).processes == processes
