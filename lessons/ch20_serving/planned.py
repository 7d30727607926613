"""The plans of this chapter, by name."""

from dataclasses import replace
from pathlib import Path

from minipod import traffic
from minipod.pods import recorded

HERE = Path(__file__).parent
HEAD = f"{'':18}   GiB compute  memory network schedule"


def planned(name, on, **axes):
    (found,) = recorded.plans(HERE, name, on, **axes)
    return found


def sixteen(name):
    """On 16 chips of v5e, as h=4, r=4."""
    return planned(name, "v5e:4x4", h=4, r=4)


def three(plan):
    """ms of arithmetic, of memory, of the network."""
    s = plan.seconds
    return [1e3 * t for t in (s.compute, s.memory, s.network)]


def of_network(plan):
    """ms that the network takes for hops alone, and for bytes alone."""
    link, sent = plan.chip.carrier, plan.collectives
    empty = [replace(c, bytes=0) for c in sent]
    ways = (empty, link), (sent, replace(link, latency=0))
    return [1e3 * traffic.at_least(*way, plan.mesh).seconds for way in ways]


def by_schedule(plan):
    """ms that the compiled program takes in its own order."""
    return 1e3 * plan.estimate["seconds"]


def row(plan):
    """One line of a table with HEAD; times in ms."""
    name = f"{plan.name.replace('_', ' '):18}"
    if not plan.fits:
        return f"{name} does not fit"
    times = "".join(f"{t:8.2f}" for t in (*three(plan), by_schedule(plan)))
    return f"{name} {plan.memory['peak'] / 2**30:5.1f}{times}"
