"""Read what a test asks for with its markers: processes, devices, limits and faults."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from minipod.testing.faults import KINDS, Fault

if TYPE_CHECKING:
    import pytest

MARKERS = (
    "devices(n, seconds=60, memory=2): run the test in its own process, with n simulated devices",
    "processes(n, devices=4, seconds=60, memory=2, patience=5, grace=2): run the test in n processes of one cluster",
    "hosts(n, rate=None, delay=None): put the processes on n simulated hosts, whose links have this rate and delay",
    "fault(kind, process, step, seconds=1): kill, stop or delay this process when it calls minipod.testing.reach(step)",
)
MOST_PROCESSES, MOST_DEVICES = 16, 1024


@dataclass(frozen=True)
class Wanted:
    """The cluster that a test asks for.

    processes, devices  number of processes, and of devices in each
    seconds   wall-clock limit of the whole test with its fixtures
    memory    GiB that a process may take beyond what JAX uses once it has started (Linux)
    patience  seconds that the others may wait, idle, once one process has finished
    grace     seconds that the others get once one has died
    hosts     number of hosts, with their cable's rate in bits per second and delay in seconds; 0: all here
    """

    processes: int = 1
    devices: int = 8
    seconds: float = 60.0
    memory: float = 2.0
    patience: float = 5.0
    grace: float = 2.0
    faults: tuple[Fault, ...] = ()
    hosts: int = 0
    rate: float | None = None
    delay: float = 0.0


class Unusable(ValueError):
    """Raised for a marker that asks for something impossible; the message names the marker and the reason."""


def wanted(item: "pytest.Item") -> Wanted | None:
    """Return what the test's closest markers ask for; None if they ask for nothing. Raises Unusable."""
    devices, processes = item.get_closest_marker("devices"), item.get_closest_marker("processes")
    faults = [_fault(mark) for mark in item.iter_markers("fault")]
    on = item.get_closest_marker("hosts")
    if on is not None and processes is None:
        raise Unusable("hosts needs the marker processes(n), too")
    if devices is None and processes is None:
        if faults:
            raise Unusable("fault needs the marker processes(n) or devices(n), too")
        return None
    if devices is not None and processes is not None:
        raise Unusable("use devices(n) or processes(n, devices=m), not both")
    if processes is not None:
        asked = _call(_processes, processes)
    else:
        assert devices is not None
        asked = _call(_devices, devices)
    for fault in faults:
        if type(fault.process) is not int or not 0 <= fault.process < asked.processes:
            last = asked.processes - 1
            allowed = f"a whole number from 0 to {last}" if last else "0"
            raise Unusable(f"fault: process must be {allowed}, not {fault.process!r}")
    asked = replace(asked, faults=tuple(faults))
    return asked if on is None else replace(asked, **_call(_hosts(asked.processes), on))


def _processes(
    n: int,
    devices: int = 4,
    seconds: float = 60.0,
    memory: float = 2.0,
    patience: float = 5.0,
    grace: float = 2.0,
) -> Wanted:
    return _checked(Wanted(n, devices, seconds, memory, patience, grace), "processes")


def _hosts(processes: int) -> Callable[..., dict[str, Any]]:
    def made(n: int, rate: str | None = None, delay: str | None = None) -> dict[str, Any]:
        from minipod.hosts import check  # only where it is needed: pytest loads this module in every run

        try:
            bits, seconds = check(n, rate, delay)
        except (ValueError, TypeError) as error:
            raise Unusable(f"hosts: {error}") from None
        if processes % n:
            raise Unusable(
                f"hosts: the number of processes ({processes}) must be a multiple of the number of hosts ({n})"
            )
        return {"hosts": n, "rate": bits, "delay": seconds}

    return made


def _devices(n: int, seconds: float = 60.0, memory: float = 2.0) -> Wanted:
    return _checked(Wanted(1, n, seconds, memory), "devices")


def _checked(asked: Wanted, marker: str) -> Wanted:
    for name, most in (("processes", MOST_PROCESSES), ("devices", MOST_DEVICES)):
        number = getattr(asked, name)
        if type(number) is not int or not 1 <= number <= most:
            raise Unusable(
                f"{marker}: {'n' if name == marker else name} must be a whole number from 1 to {most}, not {number!r}"
            )
    for name in ("seconds", "memory", "patience", "grace"):
        number = getattr(asked, name)
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < 1e6:
            raise Unusable(f"{marker}: {name} must be a number above 0 and below 1,000,000, not {number!r}")
    return asked


def _fault(mark: "pytest.Mark") -> Fault:
    def made(kind: str, process: int, step: int, seconds: float = 1.0) -> Fault:
        if kind not in KINDS:
            raise Unusable(f"fault: {kind!r} is not one of {', '.join(KINDS)}")
        return Fault(kind, process, step, seconds)

    return _call(made, mark)


def _call(function: Callable[..., Any], mark: "pytest.Mark") -> Any:
    try:
        return function(*mark.args, **mark.kwargs)
    except TypeError as error:
        reason = str(error).split("() ")[-1]
        raise Unusable(f"{mark.name}: {reason}; use it as {_usage(mark.name)}") from None


def _usage(name: str) -> str:
    return next(line.partition(":")[0] for line in MARKERS if line.startswith(f"{name}("))
