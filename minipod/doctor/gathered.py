"""Compare the facts that process 0 has gathered from all processes of a cluster."""

import statistics
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minipod.doctor.findings import Finding
from minipod.doctor.launcher import around_proxy
from minipod.ranges import numbered

CLOCK = 1.0  # seconds that clocks may be apart
SLOW = 2.0  # a process is slow if its own work takes this many times as long as the median of the others
MAY_DIFFER = ("CUDA_VISIBLE_DEVICES",)
STEPS = {"joined": "joining", "devices": "finding its devices", "hop": "making its first sums", "pace": "at work"}


class Clock(NamedTuple):
    """The seconds by which a process's clock is ahead of process 0's, and the error of this figure in seconds."""

    ahead: float
    within: float


@dataclass
class Gathered:
    """The facts about each process, by number. A process without `facts` has not connected.

    facts   what the process reported when it connected (`taking_part.facts`)
    steps   what JAX in this process has reported: the names in STEPS, in this order, and how it ended
    failed  how JAX ended, or where it was at the limit
    """

    processes: int
    launcher: str
    coordinator: str
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    clocks: dict[int, Clock] = field(default_factory=dict)
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    limit: float = 0.0

    @property
    def missing(self) -> list[int]:
        return [p for p in range(self.processes) if p not in self.facts]

    def who(self, processes: Iterable[int]) -> str:
        """Return `process 1 (host2)` or `processes 2, 3 (host2, host3)`; a host that is not known is left out."""
        numbers = sorted(processes)
        hosts = dict.fromkeys(self.facts[p]["host"] for p in numbers if p in self.facts)
        where = f" ({', '.join(hosts)})" if hosts else ""
        return f"{numbered('process', numbers)}{where}"

    def of_each(self, fact: str, name: str | None = None) -> dict[int, Any]:
        """Return one fact of each process that connected, or the entry `name` of that fact."""
        return {p: f[fact] if name is None else f[fact].get(name) for p, f in self.facts.items()}

    def names(self, fact: str) -> list[str]:
        """Return the names that this fact has in any process, in the order in which they first occur."""
        return [*dict.fromkeys(name for names in self.of_each(fact).values() for name in names)]

    def difference(self, values: Mapping[int, Hashable]) -> str | None:
        """Describe differing values, most frequent first: `0.10.2 in process 0, 0.9.9 in process 1`; None if equal."""
        processes: dict[Hashable, list[int]] = {}
        for process, value in sorted(values.items()):
            processes.setdefault(value, []).append(process)
        if len(processes) < 2:
            return None
        by_number = sorted(processes.items(), key=lambda item: -len(item[1]))
        return ", ".join(f"{'none' if value is None else value} in {self.who(those)}" for value, those in by_number)

    def everywhere(self, values: Iterable[str]) -> str:
        """Return `values`, which all connected processes share, in words: `a, b everywhere`, or `none everywhere`."""
        return (", ".join(values) or "none") + (" in the processes that connected" if self.missing else " everywhere")

    def all_have(self, step: str) -> bool:
        """Return whether every process has finished this step."""
        return all(step in self.steps.get(p, {}) for p in range(self.processes))


def findings(gathered: Gathered) -> list[Finding]:
    """Return the report, line by line."""
    looks = (_processes, _versions, _settings, _proxies, _devices, _shared_gpus, _of_one_machine, _clocks, _measured)
    return [finding for look in looks for finding in look(gathered)]


def _processes(gathered: Gathered) -> list[Finding]:
    hosts = ", ".join(dict.fromkeys(gathered.of_each("host").values()))
    value = f"{gathered.processes} ({gathered.launcher}), on {hosts}; coordinator {gathered.coordinator}"
    if not gathered.missing:
        return [Finding("Processes", value)]
    advice = f"{gathered.who(gathered.missing)} did not connect to {gathered.coordinator} within {gathered.limit:g} s"
    return [Finding("Processes", value, advice)]


def _versions(gathered: Gathered) -> list[Finding]:
    rows = []
    for name in gathered.names("versions"):
        if difference := gathered.difference(gathered.of_each("versions", name)):
            advice = f"use the same {name} everywhere"
            rows.append(Finding(name, difference, advice))
    if difference := gathered.difference(gathered.of_each("python")):
        advice = "use the same interpreter everywhere"
        rows.append(Finding("Interpreter", difference, advice, needed=False))
    if difference := gathered.difference(gathered.of_each("machine")):
        rows.append(
            Finding(
                "Machine",
                difference,
                "use the same kind of processor everywhere",
            )
        )
    versions = gathered.facts[0]["versions"]
    return rows or [Finding("Versions", gathered.everywhere(f"{name} {v}" for name, v in versions.items()))]


def _settings(gathered: Gathered) -> list[Finding]:
    rows = []
    for name in gathered.names("settings"):
        if difference := gathered.difference(gathered.of_each("settings", name)):
            advice = f"set {name} to the same value everywhere (`mpirun -x {name}` passes it on)"
            if name in MAY_DIFFER:
                advice = "set it to the same value everywhere, unless each process is to have its own devices"
            rows.append(Finding(name, difference, advice, needed=name not in MAY_DIFFER))
    settings = gathered.facts[0]["settings"]
    return rows or [Finding("Settings", gathered.everywhere(f"{name}={v}" for name, v in settings.items()))]


def _proxies(gathered: Gathered) -> list[Finding]:
    behind = {p: proxy for p, proxy in gathered.of_each("proxy").items() if proxy}
    if not behind:
        return []
    names = ", ".join(sorted(set(behind.values())))
    host = gathered.coordinator.rpartition(":")[0].strip("[]")
    return [Finding("Proxy", f"{names} in {gathered.who(behind)}", around_proxy(names, host))]


def _devices(gathered: Gathered) -> list[Finding]:
    devices = {p: steps["devices"] for p, steps in gathered.steps.items() if "devices" in steps}
    if not devices:
        return []
    kinds = {p: f"{d['platform']} · {d['kind']}" for p, d in devices.items()}
    counts = {p: d["here"] for p, d in devices.items()}
    if difference := gathered.difference(kinds):
        return [Finding("Devices", difference, "use the same kind of device everywhere")]
    kind, number = kinds[min(kinds)], counts[min(counts)]
    if difference := gathered.difference(counts):
        advice = "a batch that is split evenly needs the same number in each process"
        return [Finding("Devices", f"{difference}; {kind}", advice, needed=False)]
    known = "" if len(counts) == gathered.processes else f"; known only of {gathered.who(counts)}"
    return [Finding("Devices", f"{number} {kind} in each, {sum(counts.values())} in all{known}")]


def _shared_gpus(gathered: Gathered) -> list[Finding]:
    """Report GPUs that more than one process uses."""
    takers: dict[str, list[int]] = {}
    for p, steps in sorted(gathered.steps.items()):
        for gpu in dict.fromkeys(steps.get("gpus", ())):
            takers.setdefault(gpu, []).append(p)
    shared = [f"{gpu[:12]} is used by {gathered.who(those)}" for gpu, those in takers.items() if len(those) > 1]
    if not shared:
        return []
    advice = "NCCL refuses two processes on one GPU: start one process per GPU, with its own local_device_ids"
    return [Finding("GPUs", "; ".join(shared), advice)]


def _of_one_machine(gathered: Gathered) -> list[Finding]:
    """Report what the doctor of one machine finds wrong on any of them, with the processes that have the problem."""
    several_hosts = len({*gathered.of_each("host").values()}) > 1
    processes: dict[tuple[str, str, str, bool], list[int]] = {}
    for p, facts in sorted(gathered.facts.items()):
        for name, value, advice, needed in (*facts.get("own", ()), *gathered.steps.get(p, {}).get("unused", ())):
            if name != "Host name" or several_hosts:  # on one machine nobody needs it
                processes.setdefault((name, value, advice, needed), []).append(p)
    return [
        Finding(name, f"{value} in {gathered.who(those)}", advice, needed)
        for (name, value, advice, needed), those in processes.items()
    ]


def _clocks(gathered: Gathered) -> list[Finding]:
    clocks = gathered.clocks
    if not clocks:
        return []
    wrong = {p: clock.ahead for p, clock in clocks.items() if abs(clock.ahead) > CLOCK + clock.within}
    if not wrong:
        most = max(abs(clock.ahead) + clock.within for clock in clocks.values())
        return [Finding("Clocks", f"at most {seconds(most)} from process 0's")]
    each = [f"{gathered.who([p])} {abs(s):.1f} s {'ahead of' if s > 0 else 'behind'}" for p, s in wrong.items()]
    advice = "synchronize the clocks, for example with chrony"
    return [Finding("Clocks", ", ".join(f"{one} process 0's" for one in each), advice, needed=False)]


def _measured(gathered: Gathered) -> list[Finding]:
    if gathered.failed:
        value = "; ".join(f"{gathered.who([p])} {reason}" for p, reason in sorted(gathered.failed.items()))
        return [Finding("Computing", value, "the processes did not compute together")]
    if not gathered.all_have("pace"):
        return []
    hop = gathered.steps[0]["hop"]
    rate = f"{hop['bandwidth'] / 1e9:.2f} GB/s" if hop["bandwidth"] > 1e8 else f"{hop['bandwidth'] / 1e6:.1f} MB/s"
    large = f"{hop['large'] / 2**20:g} MiB"
    small = seconds(hop["latency"])
    value = f"an all-reduce of 4 bytes takes {small}; in one of {large} each process sends {rate} (medians)"
    return [Finding("Hop", value), _slowest(gathered)]


def _slowest(gathered: Gathered) -> Finding:
    """Report the process whose own work takes longest: the others wait for it in every step."""
    computing = {p: steps["pace"]["own"] for p, steps in gathered.steps.items()}
    slowest = max(computing, key=lambda p: computing[p])
    others = statistics.median(time for p, time in computing.items() if p != slowest)
    its, theirs = seconds(computing[slowest]), seconds(others)
    value = f"{gathered.who([slowest])}: {its}; the others: {theirs} for the same work (medians)"
    advice = "the others wait for it in every step: is something else running there?"
    return Finding("Slowest", value, advice if computing[slowest] > SLOW * others else "", needed=False)


def seconds(time: float) -> str:
    """Format a time as `0.21 ms` or `3.5 s`."""
    return f"{time * 1e3:.3g} ms" if time < 1 else f"{time:.1f} s"
