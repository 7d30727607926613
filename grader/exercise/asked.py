"""Let an answer call an argument that knows more than the answer may see: a table with a limited number of calls.

If answers run in sandboxes, the table stays outside, and `grader.see.asking` takes its place.
"""

import json
from collections.abc import Mapping
from typing import Any


class Asked:
    """A function that returns table[n] when called with n, at most `most` times.

    table    whole number -> value (JSON data)
    unknown  the message, after n, for other numbers (ValueError) · enough: for one call too many (RuntimeError)
    """

    def __init__(self, table: Mapping[int, Any], most: int, name: str, unknown: str, enough: str) -> None:
        self.table, self.most, self.name, self.unknown, self.enough = table, most, name, unknown, enough
        self.__name__ = name  # as it is shown
        self.calls = 0

    def __call__(self, n: int) -> Any:
        return returned(json.loads(self.reply(n)))

    def reply(self, n: int) -> str:
        """Encode the result of a call, or its error, as a string."""
        if n not in self.table:
            return json.dumps({"ValueError": f"{n} {self.unknown}"})
        self.calls += 1
        if self.calls > self.most:
            return json.dumps({"RuntimeError": self.enough})
        return json.dumps({"value": self.table[n]})


def returned(said: dict[str, Any]) -> Any:
    """Return the value, or raise the error, that a reply contains."""
    for kind in (ValueError, RuntimeError):
        if kind.__name__ in said:
            raise kind(said[kind.__name__])
    return said["value"]
