"""Find the exercises without pytest's collection, by calling the same test functions with the same recorder."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.exercise.progress import TESTS, all_exercises, exercises_of
from grader.exercise.spec import Recorder, Spec


class Catalogue:
    """The specs of the exercises below `lessons`. A lesson's tests are imported when its first spec is needed.

    lesson: only the specs of this lesson, even if it is a draft.
    """

    def __init__(self, lessons: Path, lesson: str = "") -> None:
        self.lessons = lessons
        self.exercises = exercises_of(lessons / lesson / TESTS) if lesson else all_exercises(lessons)
        self._tests: dict[str, Any] = {}

    def spec(self, exercise: str) -> Spec:
        """Return the spec of `ch03_sharding.read_layout`. Raises KeyError for an unknown exercise."""
        if exercise not in self.exercises:
            raise KeyError(exercise)
        lesson, _, name = exercise.partition(".")
        if lesson not in self._tests:
            self._tests[lesson] = _import(self.lessons / lesson / "test_exercises.py")
        tests = self._tests[lesson]
        test = getattr(tests, f"test_{name}")
        marks = [*getattr(test, "pytestmark", []), *_listed(getattr(tests, "pytestmark", []))]
        marker = next((m for m in marks if m.name == "processes"), None)
        return _spec(test, self.lessons / lesson, name, marker)


def recorder(folder: Path, name: str, marker: Any) -> Recorder:
    """Return the recorder for an exercise. marker: pytest's mark `processes(n, devices=4)` of the test, or None."""
    if marker is None:
        return Recorder(folder.name, name, folder)
    return Recorder(folder.name, name, folder, marker.args[0], marker.kwargs.get("devices", 4))


def described(call: Callable[[Recorder], object], to: Recorder) -> Spec:
    """Return the spec that a test gives of its exercise. Raises AssertionError unless it calls `check` once."""
    call(to)
    if len(to.specs) != 1:
        raise AssertionError(f"the test of {to.lesson}.{to.name} must call check exactly once")
    return to.specs[0]


def _listed(marks: Any) -> list[Any]:
    """Return a module's `pytestmark` as a list; it may be a single mark."""
    return marks if isinstance(marks, list) else [marks]


def _spec(test: Callable[..., object], folder: Path, name: str, marker: Any) -> Spec:
    spec = described(lambda check: test(check=check), recorder(folder, name, marker))
    spec.again = lambda: _spec(test, folder, name, marker)
    return spec


def _import(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_tests", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
