"""The lessons; in a notebook, `lessons.check("read_layout")` and its like."""

from typing import Any

ASKED = ("begin", "blank", "check", "hint", "solution")  # of a notebook


def __getattr__(name: str) -> Any:
    # Not imported above: the book's programs import `lessons`, too.
    if name not in ASKED:
        raise AttributeError(f"module 'lessons' has no attribute {name!r}")
    from grader.notebook.desk import desk

    return getattr(desk(), name)


def __dir__() -> list[str]:
    return [*ASKED, *globals()]
