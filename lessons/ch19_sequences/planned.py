"""The plans of this chapter, by name."""

from pathlib import Path

from minipod.pods import recorded

HEAD = f"{'':22}   GiB  compute  memory  network  waits (ms)  GB sent"
HERE = Path(__file__).parent


def planned(end):
    """Every plan whose name ends so, in the order of plans.txt."""
    lines = (HERE / "plans.txt").read_text("utf-8").splitlines()
    found = []
    for line in lines:
        program, _, on, _, axes = line.split()
        name = program.partition(":")[2]
        size = int(axes.removeprefix("s="))
        if name.endswith(end):
            found += recorded.plans(HERE, name, on, s=size)
    return found


def row(plan):
    """Name, GiB at the peak; ms of arithmetic, memory, network, and of waiting
    for the network by the program's own schedule; GB sent."""
    name = f"{plan.name.replace('_', ' '):22}"
    if not plan.fits:
        return f"{name} does not fit"
    s, sent = plan.seconds, sum(plan.sent.values()) / 1e9
    waits = plan.estimate["for_network"]
    times = [f"{1e3 * t:8.1f}" for t in (s.compute, s.memory, s.network, waits)]
    peak = plan.memory["peak"] / 2**30
    return f"{name} {peak:5.1f} {''.join(times)} {sent:12.2f}"
