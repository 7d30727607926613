"""An argument that an answer calls, and that knows more than the answer may: a table, so many calls of it.

Where answers run in rooms the table stays outside, and `grader.see.asking` stands in its place.
"""

import json
from collections.abc import Mapping
from typing import Any


class Asked:
    """table[n] for whoever calls it with n, at most `most` times.

    table    by whole number what comes back, JSON data
    unknown  with n before it, what is said of other numbers (ValueError) · enough: of one call too many (RuntimeError)
    """

    def __init__(self, table: Mapping[int, Any], most: int, name: str, unknown: str, enough: str) -> None:
        self.table, self.most, self.name, self.unknown, self.enough = table, most, name, unknown, enough
        self.__name__ = name  # as it is shown
        self.calls = 0

    def __call__(self, n: int) -> Any:
        return returned(json.loads(self.reply(n)))

    def reply(self, n: int) -> str:
        """Return what a call gives, or raises, as a text."""
        if n not in self.table:
            return json.dumps({"ValueError": f"{n} {self.unknown}"})
        self.calls += 1
        if self.calls > self.most:
            return json.dumps({"RuntimeError": self.enough})
        return json.dumps({"value": self.table[n]})


def returned(said: dict[str, Any]) -> Any:
    """Return what a reply says: returned, or raised."""
    for kind in (ValueError, RuntimeError):
        if kind.__name__ in said:
            raise kind(said[kind.__name__])
    return said["value"]
