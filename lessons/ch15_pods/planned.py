"""Plans that were recorded, by name: plans.json holds them."""

from collections import Counter
from pathlib import Path

from minipod.pods import recorded

HERE = Path(__file__).parent
HEAD = f"{'':17}   GiB  compute  memory network  longest (ms)"


def planned(name, on, **axes):
    """The plan of a program on a slice and mesh; without one, all there are."""
    found = recorded.plans(HERE, name, on, **axes)
    if not axes:
        return found
    (one,) = found
    return one


def row(plan):
    """One line: slice, mesh, GiB, ms of arithmetic, memory, network; bound."""
    mesh = "×".join(map(str, plan.mesh.shape.values()))
    if not plan.fits:
        return f"{plan.on:10} {mesh:>6}  does not fit"
    peak, s = plan.memory["peak"] / 2**30, plan.seconds
    times = (1e3 * t for t in (s.compute, s.memory, s.network))
    figures = "".join(f"{t:8.1f}" for t in times)
    return f"{plan.on:10} {mesh:>6}  {peak:5.1f} {figures}  {plan.bound}"


def recordings():
    """With what the plans here were recorded, and how many of them."""
    found = Counter(
        ", ".join(f"{name} {number}" for name, number in e["versions"].items())
        for e in recorded.load(HERE)
    )
    return found.items()
