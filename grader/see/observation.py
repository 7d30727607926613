"""Define observations of a file in one process as plain data: each case of each function, and the process's end."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.exercise.spec import Budget, Spec
from grader.see.array_values import arrays_in
from grader.see.left_behind import Change
from grader.see.values import Value
from grader.see.wire import Malformed, decode
from minipod import forked

LEFT_ALONE = re.compile("Gloo|Timed out|Connection closed")  # a collective gave up: its peer did not come

CodeLine = tuple[int | None, str]  # its number in the file, and its text
STATUSES = ("ok", "raised", "died", "closed", "garbled", "spoilt", "large", "printed", "memory", "hung", "left")
LEAVES_DEVICES = ("on-host", "piece-by-piece")


@dataclass(frozen=True)
class Failure:
    """An error.

    own   the last lines of the file itself that led to it
    kind  "exit", "blank" (not begun), "branch" (it was not run: `text`, a collective, stands where not all devices come
          to, in the `cond` or `while` of `into`), or "error"
    into  what the file's own code had called
    more  its words after the first empty line: details, and advice
    names  what the names in the last of these lines stood for, arguments left out
    """

    type: str
    text: str
    code: tuple[CodeLine, ...] = ()
    kind: str = "error"
    into: str = ""
    more: str = ""
    names: tuple[tuple[str, Value], ...] = ()

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]

    @property
    def is_timeout(self) -> bool:
        """Return whether a collective gave up because the other process did not come."""
        return LEFT_ALONE.search(self.text) is not None


@dataclass(frozen=True)
class Transfer:
    """One collective of a compiled program; bytes: its array's; times: None where the compiler does not know."""

    op: str
    bytes: int
    times: int | None


@dataclass(frozen=True)
class Traffic:
    """The bytes that a device of a compiled program sends, in total and along some axes; None if unknown.

    flops: of a device's matrix products, by `minipod.hlo.work`; None where a loop runs an unknown number of times.
    Where its budget asks for them: seconds, and temporary as there; exposed: how many collectives nothing can hide.
    """

    transfers: tuple[Transfer, ...]
    total: int | float | None
    along: Mapping[str, int | float | None] = field(default_factory=dict)
    seconds: float | None = None
    temporary: int | None = None
    exposed: int | None = None
    flops: int | None = None

    @property
    def count(self) -> int:
        """Return how many collectives are carried out, those of unknown loops left out."""
        return sum(transfer.times or 0 for transfer in self.transfers)


@dataclass(frozen=True)
class Unreadable:
    """A compiled program whose traffic cannot be read, and why."""

    error: str


@dataclass(frozen=True)
class Called:
    """A call of the function that is the argument with this number, on these arrays, without their numbers."""

    argument: int
    on: tuple[Value, ...]


@dataclass(frozen=True)
class Observation:
    """One case: what went in, and the value or the failure.

    traffic  of a compiled program, and what it computes
    leaves_devices  how a value came about that left the devices on the way, one of LEAVES_DEVICES
    changed  what the function should have left as it was
    given_up  the arguments, by number, whose arrays all are deleted after the call, as donation does
    called  how it called the functions among its arguments
    """

    args: tuple[Value, ...]
    value: Value | None = None
    failure: Failure | None = None
    printed: str = ""
    budget: Budget | None = None
    traffic: Traffic | Unreadable | None = None
    leaves_devices: str | None = None
    changed: Change | None = None
    given_up: tuple[int, ...] = ()
    called: tuple[Called, ...] = ()

    @property
    def timed_out(self) -> bool:
        """Return whether it waited in vain for another process."""
        return self.failure is not None and self.failure.is_timeout

    def validate(self) -> None:
        """Raise ValueError if the parts do not fit each other."""
        if (self.value is None) == (self.failure is None):
            raise ValueError("a value, or a failure")
        if self.leaves_devices not in (None, *LEAVES_DEVICES):
            raise ValueError("it leaves the devices in another way")
        for array in arrays_in(self.value) if self.value else ():
            if array.blocks and not array.has_numbers:
                raise ValueError("an array without its numbers came back")


@dataclass(frozen=True)
class Truth:
    """The value that an oracle gives for one case, or its failure."""

    value: Value | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class FileObservation:
    """The behaviour of a file's functions (None: there is no such function), or why it could not be loaded."""

    load: Failure | None = None
    functions: Mapping[str, tuple[Observation, ...] | None] = field(default_factory=dict)
    oracle: tuple[Truth, ...] = ()


@dataclass(frozen=True)
class ProcessResult:
    """The end of one process, as in `minipod.forked.Result`; if that is "ok", with what it saw of a file.

    status  "malformed" where what it returned has not the form of a FileObservation
    begun   how many cases it had begun, where it did not come to its end
    """

    status: str
    file: FileObservation = FileObservation()
    text: str = ""
    output: str = ""
    ready: bool = True
    seconds: float = 0.0
    begun: int = 0

    def cases(self, name: str) -> tuple[Observation, ...] | None:
        """Return the function's cases; None if there are none."""
        return self.file.functions.get(name)


def received(result: forked.Result, begun: int = 0) -> ProcessResult:
    """Decode what a child returned; an answer may have forged it."""
    try:
        about: dict[str, Any] = {"text": decode(str, result.text), "output": decode(str, result.output)}
        about |= {"ready": decode(bool, result.ready), "seconds": decode(float, result.seconds)}
        about |= {"begun": 0 if result.status == "ok" else begun}
        if result.status not in STATUSES:
            raise Malformed("no such status")
        file = decode(FileObservation, result.value) if result.status == "ok" else FileObservation()
    except Malformed:
        return ProcessResult("malformed")
    return ProcessResult(result.status, file, **about)


def is_complete(spec: Spec, cases: int, result: ProcessResult) -> bool:
    """Return whether a process saw all that the exercise asks for, on so many cases, or says how it ended."""
    if result.status != "ok" or result.file.load:
        return result.status != "malformed"
    observed = result.cases(spec.name)
    if observed is None:
        return True
    return len(observed) == cases and all(case.failure or _is_measured(spec, case) for case in observed)


def _is_measured(spec: Spec, case: Observation) -> bool:
    """Return whether there is what a budget is compared with."""
    if spec.how != "jit" or isinstance(case.traffic, Unreadable):
        return True
    budget, traffic = case.budget, case.traffic
    if traffic is None or budget is None:
        return traffic is not None
    if budget.on and traffic.total is not None and traffic.seconds is None:
        return False
    if budget.temporary is not None and traffic.temporary is None or budget.hidden and traffic.exposed is None:
        return False
    return set(budget.along) <= set(traffic.along)
