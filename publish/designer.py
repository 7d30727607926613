"""python -m publish.designer [MACHINE…]: write the data on machines and models that the designer's script needs.

Only Python (`minipod.choose.designs`) computes where devices lie on a torus, and how fast a collective along some axes
is there. This program writes the results for every layout of up to three axes: book/_static/designer_data.js.
"""

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict

from lessons.designer.held_against import BOOK
from minipod import traffic
from minipod.chips import CHIPS
from minipod.choose import SHAPES
from minipod.choose.designs import AXES, laid, of_fsdp, pace
from minipod.pods import recorded
from minipod.pods.slices import Slice, slice_of
from minipod.torus import box
from publish import files, progress_line
from publish.page import ROOT, show

LESSON = ROOT / "lessons" / "designer"
NAME = re.compile(r"(\w+)_(\d+)x(\d+)")
FILE = ROOT / "book" / "_static" / "designer_data.js"
MACHINES = (
    "v5e:2x4", "v5e:4x4", "v5e:16x16", "2xv5e:16x16", "v5p:2x2x4", "v5p:4x4x4", "v5p:4x8x8", "v5p:8x8x8", "v6e:8x8",
    "v6e:16x16", "7x:4x4x4", "h100:8",
)  # fmt: skip
MOST = 3  # axes with more than one device
# As in designer.js: the axes along which each collective with a pace goes.
PACED = (
    ("all-gather", ("fsdp",)),
    ("all-reduce", ("data", "expert", "sequence")),
    ("all-reduce", ("data", "sequence")),
    ("all-gather", ("sequence",)),
    ("all-to-all", ("expert",)),
    ("collective-permute", ("stage",)),
    ("all-reduce", ("tensor",)),
)


def layouts(devices: int, most: int = MOST) -> Iterator[tuple[int, ...]]:
    """Yield every way to give powers of two to the six axes, at most `most` above 1: sizes in the order of `AXES`."""

    def shared(left: int, axes: int) -> Iterator[tuple[int, ...]]:
        if axes == 1:
            yield (left,)
            return
        for power in range(left + 1):
            for rest in shared(left - power, axes - 1):
                yield (power, *rest)

    for powers in shared(int(math.log2(devices)), len(AXES)):
        if sum(power > 0 for power in powers) <= most:
            yield tuple(2**power for power in powers)


def machine(on: Slice) -> dict[str, object]:
    """Describe one slice: its chip's figures and, for each layout, the paces and boxes of its axes, as indices."""
    chip, paces, boxes = CHIPS[on.generation.chip], dict[object, int](), dict[object, int]()
    by_layout = {}
    for sizes in layouts(on.devices):
        by: dict[str, int] = dict(zip(AXES, sizes, strict=True))
        line: list[int] = []
        for op, over in PACED:
            if axes := tuple(axis for axis in over if by[axis] > 1):
                at, _ = pace(str(on), sizes, op, axes)
                key = (float(f"{at.each:.12g}"), at.least, int(at.known))
                line.append(paces.setdefault(key, len(paces)))
        line += [boxes.setdefault(sides(str(on), sizes, axis), len(boxes)) for axis in AXES if by[axis] > 1]
        by_layout["".join(str(int(math.log2(n))) for n in sizes)] = line
        laid.cache_clear()
        pace.cache_clear()
    return {
        "devices": on.devices,
        "chips": on.chips,
        "shape": on.shape,
        "slices": on.count,
        "fsdp": of_fsdp(on, on.devices),
        "flops": chip.peak("bf16"),
        "bandwidth": chip.bandwidth,
        "room": on.generation.limit * 2**30,
        "paces": list(paces),
        "boxes": list(boxes),
        "layouts": by_layout,
    }


def sides(on: str, sizes: tuple[int, ...], axis: str) -> tuple[int, ...] | None:
    """Return the sides of the box that an axis's first group fills; None if no box; (0,) if on several slices."""
    shape, _, torus = laid(on, sizes)
    if torus is None:
        return None
    stride = math.prod([shape[a] for a in AXES[AXES.index(axis) + 1 :]])
    group = [i * stride for i in range(shape[axis])]
    if torus.slices and len({torus.slices[i] for i in group}) > 1:
        return (0,)
    return box([torus.coords[i] for i in group], torus.shape)


def plans() -> dict[str, dict[str, object]]:
    """Return compiled results for the designs that have a plan, by model, batch, slice and layout."""
    plans_by_key = {}
    for each in recorded.load(LESSON):
        name = each["names"][0]
        if (match := NAME.fullmatch(name)) is None:
            continue
        on, _, rest = each["place"].partition(", ")
        by = {axis: int(n) for axis, n in (pair.split("=") for pair in rest.partition(":")[0].split(", "))}
        (plan,) = recorded.plans(LESSON, name, on, **by)
        key = "".join(str(int(math.log2(by.get(axis, 1)))) for axis in AXES)
        version = (
            f"{'libtpu' if 'libtpu' in plan.versions else 'jax'} {plan.versions.get('libtpu', plan.versions['jax'])}"
        )
        facts: dict[str, object] = {"version": version}
        if plan.fits:
            facts |= {"held": plan.memory["peak"], "sent": traffic.total(plan.collectives or [])}
            facts |= {"seconds": plan.seconds.least, "bound": plan.seconds.bound}
        plans_by_key[" ".join([*match.groups(), on, key])] = facts
    return plans_by_key


def models() -> dict[str, dict[str, object]]:
    """Return the data of each model that the formulas need, without a batch."""
    every = {"book": BOOK} | {name: shape.model(1, 1, scores=True) for name, shape in SHAPES.items()}
    # pyrefly: ignore[bad-return]
    return {name: asdict(of) for name, of in every.items()}


def machines() -> dict[str, dict[str, object]]:
    """Return the machines that are in the file, unchanged."""
    lines = files.read(FILE).splitlines() if FILE.exists() else []
    parts = (re.fullmatch(r'("[^"]+"): (\{"devices".*\}),?', line) for line in lines)
    return {json.loads(match[1]): json.loads(match[2]) for match in parts if match}


def text(by_machine: dict[str, dict[str, object]]) -> str:
    """Return the file's text: a script, because a page opened from disk cannot fetch data."""
    lines = [f"{json.dumps(name)}: {json.dumps(of, separators=(',', ':'))}" for name, of in by_machine.items()]
    return (
        '"use strict";\n// Made by `python -m publish.designer`: see there.\n'
        f"const DESIGNER = {{models: {json.dumps(models())},\nplans: {json.dumps(plans())},\nmachines: {{\n"
        + ",\n".join(lines)
        + "\n}};\n"
        'if (typeof module === "object") module.exports = DESIGNER;\n'
    )


def main(wanted: list[str] | None = None) -> int:
    """Write the file. Machines that are not named stay as they are; models and plans, which are cheap, are redone."""
    kept = machines()
    chosen = wanted if wanted is not None else sys.argv[1:]
    files.write(FILE, text({n: machine(slice_of(n)) if n in chosen or n not in kept else kept[n] for n in MACHINES}))
    progress_line.done(f"{show(FILE)}: {FILE.stat().st_size / 1000:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
