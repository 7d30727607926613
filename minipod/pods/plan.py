"""Make a plan: what a program would need on a slice and how long it would take, from compiler and chip figures."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from math import prod
from typing import Any

import jax

from minipod.chips import Chip, chip
from minipod.hlo import groups
from minipod.hlo.ops import Collective
from minipod.hlo.overlap import Overlap
from minipod.pods import bounds
from minipod.pods.facts import collective, overlap
from minipod.pods.slices import slice_of
from minipod.ranges import counted
from minipod.roofline import BOUNDS, Seconds
from minipod.tables import Table
from minipod.traffic.bill import costliest

FEW = 4  # of more axes, those of size 1 are not shown
MEMORY = ("arguments", "outputs", "temporaries", "limit")


@dataclass(frozen=True)
class Plan:
    """The needs and times of one program on one slice. All figures are for one device: a chip, or half a chip of 7x.

    memory: bytes by name: arguments, outputs, aliased (outputs that reuse donated arguments), temporaries, peak, limit,
        and host if arrays are kept there; None if the compiler gives no figure.
    full: why the program does not fit, if it does not; largest: its largest arrays in that case (`pods.largest`).
    flops: by element type (`minipod.hlo.work`). moved: bytes to and from memory, estimated.
    from_host, to_host: bytes read from the host's memory, and written to it.
    collectives, overlaps: those of the compiled program, `minipod.hlo.ops` and `minipod.hlo.overlap`.
    silent: why flops, moved and collectives are None although the program fits.
    unseen, loops, kernels_sent: what these figures leave out (`minipod.pods.facts.read`).
    estimate: seconds by the program's own schedule, and the waits of the core (`minipod.pods.facts.estimated`).
    versions: of JAX and libtpu. text: the compiled program. recorded: whether it was compiled on another machine.
    kept: date of the compilation, if the plan came from the cache.
    """

    name: str
    on: str
    mesh: Any
    fits: bool
    memory: Mapping[str, int | None]
    full: str | None
    flops: Mapping[str, int] | None
    moved: int | None
    collectives: tuple[Collective, ...] | None
    overlaps: tuple[Overlap, ...]
    silent: str | None
    versions: Mapping[str, str]
    recorded: bool = False
    text: str | None = field(default=None, repr=False)
    unseen: Mapping[str, int] = field(default_factory=dict[str, int])
    loops: Mapping[str, int] = field(default_factory=dict[str, int])
    kernels_sent: int = 0
    from_host: int = 0
    to_host: int = 0
    estimate: Mapping[str, float] | None = None
    largest: tuple[Mapping[str, Any], ...] = ()
    kept: str | None = None

    @property
    def chip(self) -> Chip:
        return chip(slice_of(self.on).generation.chip)

    @cached_property
    def sent(self) -> dict[str, int] | None:
        """Return the bytes that a device sends along each mesh axis in all runs, with the costliest branches.

        A collective over several axes counts as one collective per axis, the first with all of its bytes. None if the
        collectives are unknown, or how often one runs.
        """
        if self.collectives is None or any(c.times is None for c in self.collectives):
            return None
        costs: dict[str, list[Any]] = defaultdict(list)
        for c in self.collectives:
            for axis, share in _shares(c, dict(self.mesh.shape)).items():
                costs[axis].append((c.branch, share * c.sent_exactly(c.times or 0)))
        return {axis: round(costliest(costs[axis])) for axis in self.mesh.axis_names}

    @cached_property
    def seconds(self) -> Seconds:
        """Return how long arithmetic, memory and network take, each alone, at the chip's peaks."""
        why = self.silent or self.full or "the compiler gave no text"
        figures = self.flops, self.moved, self.collectives, why, self.unseen, self.loops, self.kernels_sent
        return bounds.seconds(self.chip, self.mesh, *figures, of_host=(self.from_host, self.to_host))

    @property
    def bound(self) -> str | None:
        """Return which of `minipod.roofline.BOUNDS` takes longest; None if missing figures could change that."""
        return self.seconds.bound

    def data(self) -> dict[str, Any]:
        """Return the object that `minipod plan --json` prints, with None for missing figures."""
        seconds = self.seconds
        return {
            "fits": self.fits,
            "memory": {name: self.memory[name] for name in MEMORY},
            "flops": None if self.flops is None else sum(self.flops.values()),
            "sent": self.sent,
            "seconds": {name: getattr(seconds, name) for name in BOUNDS if name != "host" or seconds.host != 0},
            "at_least": [name for name in BOUNDS if name in seconds.most_of],
            "estimate": self.estimate and self.estimate["seconds"],
            "bound": seconds.bound,
        }

    def table(self) -> Table:
        """Return a table with two columns: names and figures."""
        return Table(("", self.title), tuple(self._rows()), left=(0,), kind="plan")

    @property
    def title(self) -> str:
        every = self.mesh.shape
        axes = ", ".join(f"{name}={size}" for name, size in every.items() if size > 1 or len(every) <= FEW)
        return f"{self.name} on {self.on} ({axes})"

    @property
    def notes(self) -> list[str]:
        """Return the sentences below the table: the compiler's message, why figures are missing, the plan's origin."""
        lines = [self.full] if self.full else []
        if self.largest:
            lines.append(f"largest: {'; '.join(map(_described, self.largest))}")
        lines += [why for why in self.seconds.why if why != f"no figure: {self.full}"]
        if self.fits and self.estimate is None and (why := self._why_no_estimate()):
            lines.append(f"no estimate from the program's schedule: {why}")
        by = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        if not self.recorded:
            when = f", on {self.kept} (--again compiles it again)" if self.kept else ""
            return [*lines, f"compiled with {by}{when}"]
        other = "" if self.versions.get("jax") == jax.__version__ else f", where JAX is {jax.__version__}"
        return [*lines, f"recorded with {by}, not compiled here{other}"]

    def _why_no_estimate(self) -> str:
        """Return what the simulation of the schedule does not model; "" if a different note says what is missing."""
        if slice_of(self.on).count > 1:
            return "waits for other slices are not modelled"
        if self.from_host or self.to_host:
            return "waits for the host's memory are not modelled"
        return ""

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("fits", "yes" if self.fits else "no")]
        for name in ("arguments", "outputs", "temporaries", "peak", "limit"):
            if (size := self.memory.get(name)) is not None:
                donated = self.memory.get("aliased") if name == "outputs" else None
                rows.append((name, _bytes(size) + (f", {_bytes(donated)} of it donated" if donated else "")))
        if host := self.memory.get("host"):
            rows.append(("host memory", _bytes(host)))
        if self.flops is not None:
            rows += [(f"FLOPs, {kind}", f"{count:.3g}") for kind, count in self.flops.items()]
        if self.moved is not None:
            rows.append(("memory traffic", _bytes(self.moved)))
        if self.from_host or self.to_host:
            rows.append(("from and to the host", f"{_bytes(self.from_host)}, {_bytes(self.to_host)}"))
        for axis, size in (self.sent or {}).items():
            if size or self.mesh.shape[axis] > 1 or len(self.mesh.shape) <= FEW:
                rows.append((f"sent along {axis}", _bytes(size)))
        if self.overlaps:
            hidden = sum(bool(o.products) for o in self.overlaps)
            many = counted(len(self.overlaps), "collective")
            rows.append(("asynchronous", f"{many}, {hidden} with a product meanwhile"))
        seconds = self.seconds
        for name in BOUNDS:
            if (time := getattr(seconds, name)) is not None and (time or name != "host"):
                rows.append((f"seconds, {name}", f"{'at least ' if name in seconds.most_of else ''}{time:.3g}"))
        if self.estimate:
            took = f"{self.estimate['seconds']:.3g}"
            # what is missing in the three is missing in it, too, and their sum is then no end
            between = f"at least {took}" if seconds.most_of else f"{took}, of {seconds.least:.3g} to {seconds.most:.3g}"
            rows.append(("seconds, by its schedule", between))
        if seconds.bound:
            rows.append(("bound by", seconds.bound))
        if seconds.batches and seconds.batches > 1:
            rows.append(("bound by compute from", f"{seconds.batches:.3g} × the batch, if nothing else grows with it"))
        return rows

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return self.table()._repr_html_() + notes


def plan(
    name: str,
    on: str,
    mesh: Any,
    found: Mapping[str, Any],
    versions: Mapping[str, str],
    recorded: bool = False,
    text: str | None = None,
) -> Plan:
    """Make a plan from `found`, the result of `facts`."""
    axes = dict(mesh.shape)
    kept = found["collectives"]
    return Plan(
        name=name,
        on=on,
        mesh=mesh,
        fits=found["fits"],
        memory=found["memory"],
        full=found["full"],
        flops=found["flops"],
        moved=found["moved"],
        collectives=None if kept is None else tuple(collective(c, axes) for c in kept),
        overlaps=tuple(overlap(o) for o in found["overlaps"] or ()),
        silent=found["silent"],
        versions=versions,
        recorded=recorded,
        text=text,
        unseen=found.get("unseen") or {},
        loops=found.get("loops") or {},
        kernels_sent=found.get("kernels_sent") or 0,
        from_host=found.get("from_host") or 0,
        to_host=found.get("to_host") or 0,
        estimate=found.get("estimate"),
        largest=tuple(found.get("largest", ())),
    )


def _shares(c: Collective, axes: Mapping[str, int]) -> dict[str, Fraction]:
    """Divide a collective's bytes among the mesh axes. One that is not a row of the mesh counts for the last axis."""
    along = c.axes or groups.axes(c.groups, axes, pairs=c.op == "collective-permute") or (list(axes)[-1],)
    if c.op == "collective-permute":
        return {a: Fraction(1, len(along)) for a in along}
    steps = {a: Fraction(axes[a] - 1, prod(axes[b] for b in along[: i + 1])) for i, a in enumerate(along)}
    total = sum(steps.values()) or 1
    return {a: step / total for a, step in steps.items()}


def _described(array: Mapping[str, Any]) -> str:
    """Describe one of the largest arrays: where it is made, bytes, shape."""
    whole = ", undivided" if array["whole"] else ""
    return f"{array['what']}: {_bytes(array['bytes'])}{whole} ({array['shape']})"


def _bytes(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:.2f} {name}"
    return counted(size, "byte")
