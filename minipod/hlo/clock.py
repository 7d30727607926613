"""Simulate a clock for the core, and queues for memory and links that work in parallel with it, each at its peak.

`minipod.hlo.timeline` runs a program on it.
"""

from collections import Counter
from dataclasses import dataclass, field

Tickets = tuple[float, float]  # positions in the queues of memory and links
NOTHING: Tickets = (0.0, 0.0)


@dataclass(frozen=True)
class Timeline:
    """The seconds of one run. compute, memory, network: the work of each resource.

    for_memory, for_network: how long the core waits for each; in a conditional, the waits of its slowest branch. The
    core waits for the network during a synchronous collective.
    """

    seconds: float = 0.0
    compute: float = 0.0
    memory: float = 0.0
    network: float = 0.0
    for_memory: float = 0.0
    for_network: float = 0.0

    @property
    def least(self) -> float:
        """Return the longest of the three times; no schedule is faster."""
        return max(self.compute, self.memory, self.network)

    @property
    def most(self) -> float:
        """Return the sum of the three times, with nothing overlapped."""
        return self.compute + self.memory + self.network

    def times(self, turns: int) -> "Timeline":
        return Timeline(*(each * turns for each in vars(self).values()))


def at_once(compute: float, memory: float, network: float) -> Timeline:
    """Combine three kinds of work into one instruction that takes as long as the longest."""
    seconds = max(compute, memory, network)
    waits = seconds - compute
    by_memory = memory >= network
    return Timeline(seconds, compute, memory, network, waits * by_memory, waits * (not by_memory))


@dataclass
class Queue:
    """The asynchronous work of a resource, in seconds of the resource's time, first come, first served."""

    asked: float = 0.0
    served: float = 0.0

    def add(self, seconds: float) -> float:
        """Add work. Returns a ticket from which `until` computes when that work is done."""
        self.asked += seconds
        return self.asked

    def serve(self, seconds: float) -> None:
        self.served = min(self.asked, self.served + seconds)

    def until(self, ticket: float) -> float:
        """Return the seconds until the work of `ticket` is done if the resource does nothing else."""
        return max(0.0, ticket - self.served)


@dataclass
class Clock:
    """The state of one computation: how long it has run and what it has started."""

    memory: Queue = field(default_factory=Queue)
    network: Queue = field(default_factory=Queue)
    tickets: dict[str, Tickets] = field(default_factory=dict)  # of asynchronous work, by name
    spent: "Counter[str]" = field(default_factory=Counter)  # the figures of a Timeline

    def run(self, one: Timeline) -> None:
        """Run `one` on the core; asynchronous work gets the time of memory and links that `one` leaves free."""
        self.memory.serve(one.seconds - one.memory)
        self.network.serve(one.seconds - one.network)
        self._spend(one)

    def start(self, names: list[str], memory: float, network: float) -> None:
        """Start asynchronous work. memory, network: its seconds. `finish` waits for it by any of `names`."""
        ticket = self.memory.add(memory), self.network.add(network)
        self.tickets.update(dict.fromkeys(names, ticket))
        self._spend(Timeline(memory=memory, network=network))

    def finish(self, name: str) -> None:
        """Wait until the work called `name` is done; an unknown name takes no time."""
        self._wait(self.tickets.get(name, NOTHING))

    def alone(self) -> None:
        """Wait until the links are free."""
        self._wait((0.0, self.network.asked))

    def end(self) -> Timeline:
        """Wait for all asynchronous work; return the Timeline of the whole run."""
        self._wait((self.memory.asked, self.network.asked))
        return Timeline(**self.spent)

    def _wait(self, tickets: Tickets) -> None:
        waits = self.memory.until(tickets[0])
        self.run(Timeline(waits, for_memory=waits))
        waits = self.network.until(tickets[1])
        self.run(Timeline(waits, for_network=waits))

    def _spend(self, one: Timeline) -> None:
        for name, seconds in vars(one).items():
            self.spent[name] += seconds  # type: ignore: Counters count floats as well
