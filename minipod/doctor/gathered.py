"""What process 0 has gathered from all processes of a cluster, and what differs between them."""

import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minipod.doctor.findings import Finding
from minipod.ranges import ranges

CLOCK = 1.0  # seconds that clocks may be apart
SLOW = 2.0  # times as long as the others' median is slow
OWN = ("CUDA_VISIBLE_DEVICES",)  # a setting that may differ
STEPS = {"joined": "joining", "devices": "finding its devices", "hop": "making its first sums", "pace": "at work"}


@dataclass
class Gathered:
    """By the numbers of processes. `missing`: never came; `failed`: how one ended or where it stood at the limit."""

    processes: int
    launcher: str
    coordinator: str
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    clocks: dict[int, tuple[float, float]] = field(default_factory=dict)  # seconds ahead of process 0, give or take
    steps: dict[int, dict[str, Any]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    limit: float = 0.0

    @property
    def missing(self) -> list[int]:
        return [p for p in range(self.processes) if p not in self.facts]

    @property
    def where(self) -> str:
        """Where something is that all have."""
        return " in those that came" if self.missing else " everywhere"

    def who(self, processes: Iterable[int]) -> str:
        """`process 1 (host2)`, `processes 2, 3 (host2, host3)`, with the hosts as far as they are known."""
        numbers = sorted(processes)
        hosts = dict.fromkeys(self.facts[p]["host"] for p in numbers if p in self.facts)
        where = f" ({', '.join(hosts)})" if hosts else ""
        return f"process{'es' * (len(numbers) > 1)} {ranges(numbers)}{where}"

    def all_have(self, step: str) -> bool:
        """Whether every process has taken this step."""
        return all(step in self.steps.get(p, {}) for p in range(self.processes))


def findings(all_of: Gathered) -> list[Finding]:
    """The report, line by line."""
    hosts = dict.fromkeys(f["host"] for f in all_of.facts.values())
    value = f"{all_of.processes} of {all_of.launcher}, on {', '.join(hosts)}; coordinator {all_of.coordinator}"
    found = [Finding("Processes", value)]
    if all_of.missing:
        gone = f"did not come within {all_of.limit:g} s"
        advice = (
            f"{all_of.who(all_of.missing)} {gone}: not started, ended before, stopped, or without a way to "
            f"{all_of.coordinator}"
        )
        found = [Finding("Processes", value, advice)]
    found += [*_versions(all_of), *_settings(all_of), *_proxies(all_of), *_devices(all_of), *_shared(all_of)]
    found += [*_own(all_of), *_clocks(all_of)]
    return [*found, *_measured(all_of)]


def groups(values: Mapping[int, Hashable]) -> dict[Hashable, list[int]]:
    """The processes by what they have, the most frequent first."""
    found: dict[Hashable, list[int]] = {}
    for process, value in sorted(values.items()):
        found.setdefault(value, []).append(process)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _apart(all_of: Gathered, values: Mapping[int, Hashable]) -> str | None:
    """`0.10.2 in process 0 (a), 0.9.9 in process 1 (b)`; None where all have the same."""
    found = groups(values)
    if len(found) < 2:
        return None
    return ", ".join(f"{'none' if v is None else v} in {all_of.who(ps)}" for v, ps in found.items())


def _versions(all_of: Gathered) -> list[Finding]:
    names = dict.fromkeys(name for f in all_of.facts.values() for name in f["versions"])
    found = []
    for name in names:
        if said := _apart(all_of, {p: f["versions"].get(name) for p, f in all_of.facts.items()}):
            advice = f"one version of {name} is needed everywhere: the programs would not be the same"
            found.append(Finding(name, said, advice))
    if said := _apart(all_of, {p: f["python"] for p, f in all_of.facts.items()}):
        found.append(Finding("Interpreter", said, "another Python has its own packages: start one and the same", False))
    if said := _apart(all_of, {p: f["machine"] for p, f in all_of.facts.items()}):
        found.append(Finding("Machine", said, "processors of two kinds compile two programs"))
    if not found:
        have = next(iter(all_of.facts.values()))["versions"]
        return [Finding("Versions", ", ".join(f"{n} {v}" for n, v in have.items()) + all_of.where)]
    return found


def _settings(all_of: Gathered) -> list[Finding]:
    names = dict.fromkeys(name for f in all_of.facts.values() for name in f["settings"])
    found, same = [], []
    for name in names:
        if said := _apart(all_of, {p: f["settings"].get(name) for p, f in all_of.facts.items()}):
            advice = (
                f"set {name} alike everywhere, and let the launcher pass it on (`mpirun -x {name}`, `srun` by itself)"
            )
            if name in OWN:
                advice = "right where each process is given devices of its own; else set it alike everywhere"
            found.append(Finding(name, said, advice, needed=name not in OWN))
        else:
            same.append(f"{name}={next(iter(all_of.facts.values()))['settings'][name]}")
    return found or [Finding("Settings", (", ".join(same) or "none") + all_of.where)]


def _proxies(all_of: Gathered) -> list[Finding]:
    behind = {p: f["proxy"] for p, f in all_of.facts.items() if f["proxy"]}
    if not behind:
        return []
    host = all_of.coordinator.rpartition(":")[0]
    advice = f"gRPC would ask that proxy for {host}, and JAX hangs: `export no_proxy={host}`"
    return [Finding("Proxy", f"{', '.join(sorted(set(behind.values())))} in {all_of.who(behind)}", advice)]


def _devices(all_of: Gathered) -> list[Finding]:
    seen = {p: steps["devices"] for p, steps in all_of.steps.items() if "devices" in steps}
    if not seen:
        return []
    kinds = {p: f"{d['platform']} · {d['kind']}" for p, d in seen.items()}
    if said := _apart(all_of, kinds):
        return [Finding("Devices", said, "devices of two kinds in one cluster: no program runs on both")]
    counts = {p: d["here"] for p, d in seen.items()}
    if said := _apart(all_of, counts):
        advice = "as many in each process are needed for pmap, and for batches that are split evenly"
        return [Finding("Devices", f"{said}; {kinds[min(kinds)]}", advice, needed=False)]
    number = next(iter(counts.values()))
    return [Finding("Devices", f"{number} {kinds[min(kinds)]} in each, {sum(counts.values())} in all")]


def _shared(all_of: Gathered) -> list[Finding]:
    """GPUs that more than one process has taken."""
    takers: dict[str, list[int]] = {}
    for p, steps in sorted(all_of.steps.items()):
        for gpu in dict.fromkeys(steps.get("gpus", ())):
            takers.setdefault(gpu, []).append(p)
    said = [f"{gpu[:12]} is that of {all_of.who(ps)}" for gpu, ps in takers.items() if len(ps) > 1]
    if not said:
        return []
    advice = "NCCL refuses two processes on one GPU: start one process for each, with local_device_ids of its own"
    return [Finding("GPUs", "; ".join(said), advice)]


def _own(all_of: Gathered) -> list[Finding]:
    """What the doctor of one machine would say of each, where it would say that something is wrong."""
    hosts = {f["host"] for f in all_of.facts.values()}
    told: dict[tuple[str, str, str], list[int]] = {}
    for p, f in sorted(all_of.facts.items()):
        for name, value, advice in (*f.get("own", ()), *all_of.steps.get(p, {}).get("unused", ())):
            if name != "Host name" or len(hosts) > 1:  # on one machine nobody needs it
                told.setdefault((name, value, advice), []).append(p)
    return [Finding(n, f"{value} in {all_of.who(ps)}", advice, needed=False) for (n, value, advice), ps in told.items()]


def _clocks(all_of: Gathered) -> list[Finding]:
    if not all_of.clocks:
        return []
    far = {p: ahead for p, (ahead, within) in all_of.clocks.items() if abs(ahead) > CLOCK + within}
    if far:
        said = ", ".join(f"{all_of.who([p])} {_ahead(s)}" for p, s in far.items())
        advice = "let NTP or chrony set the clocks: logs cannot be put in order, and keys expire"
        return [Finding("Clocks", f"{said} of process 0's", advice, needed=False)]
    most = max(abs(ahead) + within for ahead, within in all_of.clocks.values())
    return [Finding("Clocks", f"at most {seconds(most)} from process 0's")]


def _ahead(offset: float) -> str:
    return f"{abs(offset):.1f} s {'ahead' if offset > 0 else 'behind'}"


def _measured(all_of: Gathered) -> list[Finding]:
    if all_of.failed:
        value = "; ".join(f"{all_of.who([p])} {why}" for p, why in sorted(all_of.failed.items()))
        return [Finding("Computing", value, "the processes do not compute together: mend what this process says")]
    if not all_of.all_have("pace"):
        return []
    hop = all_of.steps[0]["hop"]
    rate = f"{hop['bandwidth'] / 1e9:.2f} GB/s" if hop["bandwidth"] > 1e8 else f"{hop['bandwidth'] / 1e6:.1f} MB/s"
    large = f"{hop['large'] / 2**20:g} MiB"
    value = f"an all-reduce of 4 bytes takes {seconds(hop['latency'])}; in one of {large} each sends {rate} (medians)"
    return [Finding("Hop", value), _slowest({p: s["pace"] for p, s in all_of.steps.items()}, all_of.who)]


def _slowest(paces: Mapping[int, Mapping[str, float]], who: Callable[[Iterable[int]], str]) -> Finding:
    """The process whose own work takes longest: the others wait for it in every step."""
    last = max(paces, key=lambda p: paces[p]["own"])
    others = statistics.median(pace["own"] for p, pace in paces.items() if p != last)
    own = paces[last]["own"]
    value = f"{who([last])}: {seconds(own)} for what takes the others {seconds(others)} (medians)"
    advice = "all wait for it in every step: what else runs there, and does its device throttle?"
    return Finding("Slowest", value, advice * (own > SLOW * others), needed=False)


def seconds(of: float) -> str:
    """`0.21 ms`, `3.5 s`."""
    return f"{of * 1e3:.3g} ms" if of < 1 else f"{of:.1f} s"
