"""Define, as plain data, observations of a file in one process: each case of each function, and the process's end."""

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

LEFT_ALONE = re.compile("Gloo|Timed out|Connection closed")  # a collective gave up: its peer did not arrive

CodeLine = tuple[int | None, str]  # its number in the file, and its text
STATUSES = ("ok", "raised", "died", "closed", "garbled", "spoilt", "large", "printed", "memory", "hung", "left")
LEAVES_DEVICES = ("on-host", "piece-by-piece")


@dataclass(frozen=True)
class Failure:
    """An error.

    code  the last lines of the file itself that led to the error
    kind  "exit", "blank" (not begun), "branch" (not run, because not all devices reach the collective `text`, which is
          in the `cond` or `while` of `into`), or "error"
    into  the function that the file's own code had called
    more  the message after the first empty line: details and advice
    names  the values of the names in the last of these lines, without arguments
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
        """Return whether a collective gave up because a different process did not arrive."""
        return LEFT_ALONE.search(self.text) is not None


@dataclass(frozen=True)
class Transfer:
    """One collective of a compiled program. bytes: of its array. times: None if the compiler does not know."""

    op: str
    bytes: int
    times: int | None


@dataclass(frozen=True)
class Traffic:
    """The bytes that a device of a compiled program sends, in total and along some axes; None if unknown.

    flops: of a device's matrix products, by `minipod.hlo.work`; None if a loop runs an unknown number of times.
    moved: bytes that a device reads and writes in its memory, likewise.
    If the budget asks for them: seconds and temporary, as in `Budget`; exposed: the number of collectives that
    cannot overlap with a product.
    """

    transfers: tuple[Transfer, ...]
    total: int | float | None
    along: Mapping[str, int | float | None] = field(default_factory=dict)
    seconds: float | None = None
    temporary: int | None = None
    exposed: int | None = None
    flops: int | None = None
    moved: int | None = None

    @property
    def count(self) -> int:
        """Return how many collectives run, without those in loops of unknown length."""
        return sum(transfer.times or 0 for transfer in self.transfers)


@dataclass(frozen=True)
class Unreadable:
    """The traffic of a compiled program that cannot be read, with the reason."""

    error: str


@dataclass(frozen=True)
class Called:
    """A call of the function at position `argument` of the arguments. on: what it was called on, without numbers."""

    argument: int
    on: tuple[Value, ...]


@dataclass(frozen=True)
class Observation:
    """One case: the arguments, and the value or the failure.

    traffic  traffic and work of a compiled program
    leaves_devices  how the computation left the devices on the way, one of LEAVES_DEVICES
    changed  the change that the function should not have made
    given_up  the positions of arguments whose arrays are all deleted after the call, as by donation
    called  its calls of functions among the arguments
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
        """Return whether the call waited in vain for a different process."""
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
    """The value that an oracle returns for one case, or its failure."""

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
    """The end of one process, as in `minipod.forked.Result`; if its status is "ok", with the observations of a file.

    status  "malformed" if the data that it returned do not have the form of a FileObservation
    begun   how many cases it had begun, if it did not finish
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
    """Decode the data that a child returned; the status is "malformed" if an answer has forged them badly."""
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
    """Return whether a process observed all that the exercise needs, in this number of cases, or says how it ended."""
    if result.status != "ok" or result.file.load:
        return result.status != "malformed"
    observed = result.cases(spec.name)
    if observed is None:
        return True
    return len(observed) == cases and all(case.failure or _is_measured(spec, case) for case in observed)


def _is_measured(spec: Spec, case: Observation) -> bool:
    """Return whether it has the figures with which a budget is compared."""
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
