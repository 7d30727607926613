"""Describe one exercise as a chapter's test does: the cases, the oracle, and what is compared."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ASPECTS = ("value", "placement", "printed")
# What the numbers of a value mean. Of an id or a label nothing can be too large, or twice what it should be.
MEANINGS = ("data", "count", "index", "bytes", "seconds", "id", "label")
Meaning = str | tuple["Meaning", ...] | Mapping[str, "Meaning"]


@dataclass(frozen=True)
class Budget:
    """A limit on the bytes that the compiled answer sends, and on other costs.

    ops    the collectives that may appear, such as {"all-reduce"}
    sent   the most bytes that a device may send for them, loop iterations included: `grader.sent` says how many
    single whether a single collective must do it, even if several small ones would send no more bytes
    along  for some axes of the mesh among the arguments, the most bytes that may be sent along that axis
    seconds    the most time that its messages may take on the link `on`, a name in `minipod.traffic.LINKS`, with the
               mesh among the arguments taken as the machine's; only bytes count, not latency: exercises send few
    temporary  the most bytes that a device may need besides arguments and results, by `compiled.memory_analysis()`
    hidden     whether each collective must be able to overlap with a product, by `minipod.hlo.hiding.exposed`
    work       whether the products of a device are counted, too, as `check(work=…)` asks
    """

    ops: set[str]
    sent: int | float
    single: bool = False
    along: Mapping[str, int | float] = field(default_factory=dict)
    seconds: float | None = None
    on: str = ""
    temporary: int | None = None
    hidden: bool = False
    work: bool = False


@dataclass
class Spec:
    """One exercise as its test describes it; the fields from `cases` on are the arguments of `check`."""

    lesson: str  # "ch03_sharding"
    name: str  # "bytes_per_device"
    folder: Path  # the lesson's
    cases: Callable[..., Any]
    oracle: Callable[..., Any] | None = None
    compare: tuple[str, ...] = ("value",)
    how: str = "call"
    budget: Budget | Callable[..., Budget] | None = None
    tolerance: float = 1e-5
    on_device: bool = False
    work: bool = False
    values: Meaning = "data"
    processes: int = 1
    devices: int = 8
    again: "Callable[[], Spec] | None" = None  # the same afresh: what the test's functions share starts empty

    @property
    def exercise(self) -> str:
        """Return the name in reports: `ch03_sharding.bytes_per_device`."""
        return f"{self.lesson}.{self.name}"

    def meaning(self, path: str = "") -> str:
        """Return the meaning of the numbers at a place of the value (`["w"][0]`, as in `Difference`); "" if several."""
        means: Meaning = self.values
        for index, key in re.findall(r"\[(\d+)\]|\['([^']*)'\]", path):
            if isinstance(means, tuple) and index and int(index) < len(means):
                means = means[int(index)]
            elif isinstance(means, Mapping) and key:
                means = means.get(key, "data")
        return means if isinstance(means, str) else ""

    @property
    def root(self) -> Path:
        """Return the folder that contains lessons/, solutions/ and answers/."""
        return self.folder.parent.parent


@dataclass(frozen=True)
class Machine:
    """The devices that JAX finds on this machine: `4 tpu · TPU v5 lite`."""

    count: int
    platform: str
    kind: str

    def __str__(self) -> str:
        return f"{self.count} {self.platform} · {self.kind}"


@dataclass
class Settings:
    """The options of a run that a check needs. answers: folder. limit: seconds. memory: GiB. fork: False for debuggers.

    machine  the one whose devices are used instead of simulated ones; None: simulated devices
    """

    answers: Path
    seed: int
    limit: float = 20.0
    memory: float = 4.0
    fork: bool = True
    machine: Machine | None = None

    def devices(self, spec: Spec) -> int | None:
        """Return how many CPU devices a child simulates for an exercise; None: it uses the machine's own devices."""
        return None if self.machine else spec.devices


@dataclass
class Recorder:
    """The fixture `check`. A call records what to check; the check itself runs after the test function has returned.

    check(cases, *, oracle=None, compare=("value",), how="call", budget=None, tolerance=1e-5, on_device=False,
          work=False, values="data")

    cases      cases(rng) -> argument tuples, at least two; runs in the child that has the devices;
               rng: np.random.Generator from the run's seed
    oracle     oracle(*args) -> the expected value, computed with NumPy on one device (the expected text if only
               "printed" is compared); the solution is compared with it
    compare    any of "value", "placement" (which device holds which block), "printed"
    how        "call": the function is called · "jit": it is compiled once, its traffic is counted, and it is run
    budget     a Budget, or a function of the arguments that returns one; needs how="jit"
    tolerance  relative to the largest number of the expected array
    on_device  the answer is called and also traced: if it copies to the host, or moves pieces to single devices one
               by one, it is wrong even if its numbers are right
    work       a device's matrix products are counted (program by program, if the answer is called): more than
               `verdict.MOST_WORK` times the solution's are wrong; if a compiled solution has none, so are more than
               `verdict.MOST_MOVED` times the bytes that it reads and writes; so is a compiled answer that sends
               nothing if the solution sends something
    values     the meaning of the numbers, on which the diagnosis of wrong ones depends: "data", "count", "index"
               (counted from 0), "bytes", "seconds", "id" (of a device, a process, a step) or "label"; for a tuple,
               one for each element; for dicts, in lists or not, a dict with one for each key
    """

    lesson: str
    name: str
    folder: Path
    processes: int = 1
    devices: int = 8
    specs: list[Spec] = field(default_factory=list)

    def __call__(self, cases: Callable[..., Any], **options: Any) -> None:
        spec = Spec(self.lesson, self.name, self.folder, cases, processes=self.processes, devices=self.devices)
        for key, value in options.items():
            if key not in ("oracle", "compare", "how", "budget", "tolerance", "on_device", "work", "values"):
                raise TypeError(f"check() of {spec.exercise} has no option {key!r}")
            setattr(spec, key, value)
        if spec.how not in ("call", "jit"):
            raise ValueError(f'{spec.exercise}: how={spec.how!r} must be "call" or "jit"')
        if not set(spec.compare) <= set(ASPECTS):
            raise ValueError(f"{spec.exercise}: compare={spec.compare!r} may contain only {ASPECTS}")
        if unknown := set(_names(spec.values)) - set(MEANINGS):
            raise ValueError(f"{spec.exercise}: values={spec.values!r}: {unknown.pop()!r} is not one of {MEANINGS}")
        if spec.budget is not None and spec.how != "jit":
            raise ValueError(f'{spec.exercise}: a budget is read from a compiled program: set how="jit"')
        if spec.work and spec.how == "jit" and spec.budget is None:
            raise ValueError(f'{spec.exercise}: how="jit" counts work in addition to a budget: give the budget')
        self.specs.append(spec)


def _names(means: Meaning) -> Iterator[str]:
    if isinstance(means, str):
        yield means
        return
    for inner in means.values() if isinstance(means, Mapping) else means:
        yield from _names(inner)
