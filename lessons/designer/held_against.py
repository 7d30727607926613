"""The formulas of `minipod.choose` beside plans that compilers made: which plan
is which model, cut how.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from minipod import traffic
from minipod.choose import SHAPES, Design, Model, design
from minipod.pods import recorded
from minipod.pods.plan import Plan

LESSONS = Path(__file__).resolve().parents[1]
# Chapter 15's stacks of layers, bf16, no optimizer, nothing computed again:
# layers, width, hidden units, kept with relu's mask, one byte for each. Each
# token is a row of its own.
STACKS = {"small": (16, 4096, 16384), "large": (24, 8192, 32768)}
STACKED = """
small_14 v5e:4x4 fsdp=16 | small_14 v5e:4x4 fsdp=4,tensor=4
small_14 v5e:4x4 tensor=16 | small_16 v5e:4x4 fsdp=4,tensor=4
small_14 v6e:4x4 fsdp=4,tensor=4 | small_14 v6e:4x4 tensor=16
large_18 v5e:16x16 fsdp=256 | large_18 v5p:4x4x4 fsdp=64
large_18 v5p:4x4x4 tensor=64 | large_18 v6e:8x8 tensor=64
large_18 v5e:16x16 fsdp=16,tensor=16 | large_18 v5e:16x16 tensor=256
large_15 v5e:16x16 fsdp=16,tensor=16 | large_18 v5p:4x4x4 fsdp=16,tensor=4
large_18 v5p:4x4x4 fsdp=4,tensor=16 | large_18 v4:4x4x4 fsdp=16,tensor=4
large_18 v6e:8x8 fsdp=64 | large_18 v6e:8x8 fsdp=8,tensor=8
large_14 h100:8 fsdp=8 | large_14 h100:8 fsdp=2,tensor=4
"""
# Chapter 9's model of 202 million parameters, f32, without recomputation.
LARGE = 256 * 1024 * 2 + 32 * 1024 + 16 * (4 * 1024**2 + 2 * 1024 * 4096)
INSIDE = 4 + 6 * 4  # kept: queries, keys, values, heads, and six for gelu
BOOK = Model(
    LARGE, 16, 1024, 1, 32, weight=4, gradient=4, inside=INSIDE, heads=8,
    again=False,
)  # fmt: skip
TRAINED = {"dp": "data=8", "fsdp": "fsdp=8", "tp": "tensor=8"}
# Chapter 17's steps with ZeRO-3: slice, layers, width, sequences.
STEPS = {
    "one": ("v5e:4x4", 20, 2048, 32),
    "eight": ("v5p:2x2x4", 40, 4096, 64),
}


@dataclass(frozen=True)
class Case:
    """A formula beside a plan; sizes as in `data=2,fsdp=4`."""

    name: str
    on: str
    sizes: str
    design: Design
    plan: Plan
    again: bool  # layers are computed again in the backward pass

    @property
    def work(self):
        """Arithmetic: formula ÷ plan. So are the others."""
        return self.design.seconds.compute / self.plan.seconds.compute

    @property
    def sent(self):
        return self.design.sent / traffic.total(self.plan.collectives)

    @property
    def held(self):
        held = self.design.held  # and the batch: all arguments but the state
        batch = self.plan.memory["arguments"] - held["state"]
        return (sum(held.values()) + batch) / self.plan.memory["peak"]

    @property
    def memory(self):
        return self.design.seconds.memory / self.plan.seconds.memory

    @property
    def network(self):
        return self.design.seconds.network / self.plan.seconds.network


def cases():
    for line in (STACKED.replace("|", "\n")).split("\n"):
        if line.strip():
            yield stack(*line.split())
    for rows, end in ((16, ""), (512, "_512")):
        for name, sizes in TRAINED.items():
            of = replace(BOOK, rows=rows)
            yield case(
                "ch09_training",
                f"large_{name}_donated{end}",
                "v5e:2x4",
                sizes,
                of,
            )
    for name, (on, layers, width, rows) in STEPS.items():
        params = 12 * layers * width**2 + (2 * 256 + 1024) * width
        of = Model(params, layers, width, rows, 1024, heads=width // 128)
        yield case("ch17_step", f"{name}_nothing", on, "fsdp=16", of)
    yield from six_axes()
    yield from published()


def stack(name, on, sizes):
    size, power = name.split("_")
    layers, width, hidden = STACKS[size]
    of = Model(
        2 * layers * width * hidden, layers, width, 2 ** int(power), 1,
        sums=2, state=2, inside=1.5 * hidden / width, whole=0, again=False,
    )  # fmt: skip
    return case("ch15_pods", name, on, sizes, of)


def six_axes():
    """The page `axes`: twelve, bf16, gradient descent."""
    dense = 8 * (2 * 4096**2 + 2 * 4096 * 1024)
    mlp = 8 * 2 * 4096 * 16384
    of = Model(
        dense + mlp, 8, 4096, 8, 2048, state=2, inside=11.5,
        last=mlp / 2 / (dense + mlp), kv=0.5, heads=32,
    )  # fmt: skip
    experts = replace(
        of, params=dense + 8 * 4096 * 8 + 4 * mlp, spread=4 * mlp, experts=8,
        last=0,
    )  # fmt: skip
    for axis in "data", "fsdp", "tensor", "sequence", "expert", "stage":
        for on in "v5e:2x2", "4xv5e:1x1":
            which = experts if axis == "expert" else of
            yield case("axes", axis, on, f"{axis}=4", which)


def published():
    """Models of published sizes, with Adam: those that plans.txt names."""
    for line in (LESSONS / "designer/plans.txt").read_text().splitlines():
        program, _, on, _, sizes = line.split()
        file, name = program.split(":")
        if file == "models.py":
            shape, _, batch = name.rpartition("_")
            rows, length = map(int, batch.split("x"))
            of = SHAPES[shape].model(rows, length, scores=True)
            yield case("designer", name, on, sizes, of)


def case(lesson, name, on, sizes, of):
    by = {axis: int(n) for axis, n in (s.split("=") for s in sizes.split(","))}
    called = dict(by)  # as the lesson calls its axes
    if lesson not in ("axes", "designer"):
        called = {"data": by.get("data", 1) * by.get("fsdp", 1)}
        called["model"] = by.get("tensor", 1)
    (plan,) = recorded.plans(LESSONS / lesson, name, on, **called)
    return Case(name, on, sizes, design(of, on, **by), plan, of.again)
