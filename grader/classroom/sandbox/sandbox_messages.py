"""Define the messages between a sandbox and the grading process, which `wire` turns into lines of JSON."""

from dataclasses import dataclass

from grader.see.observation import ProcessResult


@dataclass(frozen=True)
class Task:
    """The facts about an exercise that a sandbox needs, none of which reveals the right result.

    how        "call", or "export": the function is traced on arrays of zeros, and the reply contains the program
    work       whether to count what a device multiplies in a function that is called
    arguments  for each process, the cases as `grader.see.serialized_arguments` writes them, in base64
    """

    lesson: str
    name: str
    how: str
    on_device: bool
    work: bool
    processes: int
    devices: int
    arguments: tuple[str, ...]


class Request:
    """Any of the next four."""


@dataclass(frozen=True)
class See(Request):
    """Run an answer. limit: seconds · memory: GiB of each process."""

    task: Task
    path: str
    source: str
    limit: float
    memory: float


@dataclass(frozen=True)
class Measure(Request):
    """Compile, count and run the programs of a reply to See; asked only of a sandbox that runs no submission.

    cases  true arguments and budgets, as `grader.see.serialized_arguments` writes them, in base64
    reply  the line of that reply, unchanged
    """

    name: str
    devices: int
    cases: str
    reply: str
    limit: float
    memory: float


@dataclass(frozen=True)
class Try(Request):
    """Report what can be done and reached in this sandbox."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class AskReply(Request):
    """The reply to an Ask, as `grader.exercise.asked` writes it."""

    text: str


class Reply:
    """Any of the next four."""


@dataclass(frozen=True)
class Ready(Reply):
    """The sandbox is ready for requests."""


@dataclass(frozen=True)
class Ask(Reply):
    """A question that an answer asks, before its Results, of the n-th argument that stayed outside."""

    n: int
    x: int


@dataclass(frozen=True)
class Results(Reply):
    """The end of each process of an answer, and its observations."""

    results: tuple[ProcessResult, ...]


@dataclass(frozen=True)
class Reach(Reply):
    """The abilities of a sandbox: how many processes of a pair started, and the paths that it can read and write.

    refused  whether the kernel refuses the calls that `system_calls` lists
    """

    started: int
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    refused: bool
