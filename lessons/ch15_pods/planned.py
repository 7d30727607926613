"""Plans that were recorded, by name: plans.json holds them."""

from collections import Counter
from pathlib import Path

from minipod import pods
from minipod.pods import recorded
from minipod.pods.plan import plan

HERE = Path(__file__).parent
HEAD = f"{'':17}   GiB  compute  memory network  longest (ms)"


def planned(name, on, **axes):
    """The plans of a program on a slice: of one mesh, or of all there are."""
    found = []
    for entry in recorded.load(HERE):
        slice_name, _, rest = entry["place"].partition(", ")
        pairs = rest.partition(":")[0].split(", ")
        sizes = {k: int(n) for k, n in (each.split("=") for each in pairs)}
        if name in entry["names"] and slice_name == on:
            mesh = pods.mesh(on, **sizes)
            facts, by = entry["facts"], entry["versions"]
            found.append(plan(name, on, mesh, facts, by, recorded=True))
    if not axes:
        return found
    (one,) = (p for p in found if dict(p.mesh.shape) == axes)
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
