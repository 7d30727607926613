"""Run a program on simulated hosts, each with its own network, name and /etc/hosts, joined by cables.

    with hosts.lab(count=2, rate="100mbit", delay="5ms") as lab:
        lab.run("program.py", devices=4)

`minipod.cluster` starts one process per host, so the same program runs on any cluster. A lab is gone when its block
ends or this process dies. Labs need Linux, and root unless the kernel lets users create namespaces.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minipod import cluster
from minipod.cluster.result import Run
from minipod.hosts import namespaces
from minipod.ranges import counted

MOST = 4  # hosts
RATES, DELAYS = (1e5, 1e11), (0.0, 1.0)  # bits per second, seconds
_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Lab:
    """Hosts held by the processes `pids`. rate: bits per second that each may send, or None. delay: seconds."""

    pids: tuple[int, ...]
    rate: float | None = None
    delay: float = 0.0

    def run(self, program: str | os.PathLike[str], *arguments: str, devices: int = 4, **options: Any) -> Run:
        """Run `program` in one process per host with `devices` CPU devices each; otherwise like `cluster.run`."""
        places = [[*namespaces.enter(pid, *namespaces.OWN), f"--wdns={os.getcwd()}"] for pid in self.pids]
        return cluster.run(
            program,
            *arguments,
            processes=len(self.pids),
            devices=devices,
            address=namespaces.ADDRESS.format(1),
            places=places,
            **options,
        )

    def sent(self) -> list[int]:
        """Return the bytes that each host's network interface has sent so far, headers included."""
        return [namespaces.sent(pid) for pid in self.pids]


@contextlib.contextmanager
def lab(count: int = 2, rate: str | None = None, delay: str | None = None) -> Iterator[Lab]:
    """Create `count` simulated hosts, 2 to 4, and remove them when the block ends.

    rate   the bandwidth of each host's link, such as "100mbit"; None: unlimited
    delay  added to each packet between hosts, such as "5ms"; None: no delay

    Raises ValueError for a value that is impossible, PermissionError if this machine cannot make hosts.
    """
    bits, seconds = check(count, rate, delay)
    with namespaces.hosts(count, bits, seconds) as pids:
        yield Lab(tuple(pids), bits, seconds)


def check(count: int, rate: str | None, delay: str | None) -> tuple[float | None, float]:
    """Return the rate in bits per second, or None, and the delay in seconds. Raises ValueError for bad values."""
    if not 2 <= count <= MOST:
        raise ValueError(f"{counted(count, 'host')}: choose between 2 and {MOST}")
    bits = (
        None if rate is None else _amount("rate", rate, ("kbit", "mbit", "gbit"), RATES, "between 100kbit and 100gbit")
    )
    return bits, 0.0 if delay is None else _amount("delay", delay, ("us", "ms", "s"), DELAYS, "at most 1s")


def _amount(what: str, text: str, units: tuple[str, ...], between: tuple[float, float], says: str) -> float:
    match = re.fullmatch(rf"(\d+(?:\.\d+)?)({'|'.join(units)})", text)
    if not match:
        raise ValueError(f"{what} {text!r}: give a number with its unit ({', '.join(units)}), such as 5{units[1]}")
    amount = float(match[1]) * _UNITS[match[2]]
    if not between[0] <= amount <= between[1]:
        raise ValueError(f"{what} {text}: choose {says}")
    return amount
