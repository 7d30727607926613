"""Published figures, each computed again from a program compiled for its mesh.

The programs are compiled for simulated devices, and not run. A bf16 array of a
publication is a float16 one here: it has as many bytes, and the CPU compiler,
which turns bf16 into f32, leaves it alone.
"""

import functools
import html
import tomllib
from math import prod
from pathlib import Path
from typing import Any

import jax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from lessons.ch07_collectives.programs import BATCH, PROGRAMS, WEIGHTS
from minipod import traffic
from minipod.tables import Table

SCALE = {"ms": 1e3, "µs": 1e6}


@functools.cache
def published(lang: str = "en") -> dict[str, Any]:
    """published.toml, which has English and Simplified Chinese; for zh-Hant
    the file derived from it, which has the words alone."""
    derived = ".zh-Hant" if lang == "zh-Hant" else ""
    path = Path(__file__).with_name(f"published{derived}.toml")
    return tomllib.loads(path.read_text("utf-8"))


def found(compiled: dict[str, Any]) -> tuple[list[traffic.Collective], Any]:
    """The collectives of a figure's program, and the mesh.

    ValueError when fewer devices are simulated than the mesh has.
    """
    sizes = compiled["mesh"]
    count = prod(sizes.values())
    if count > jax.device_count():
        raise ValueError(
            f"the mesh {sizes} needs {count} devices: call minipod.devices."
            "simulate(64) before anything that uses a device"
        )
    mesh = jax.make_mesh(
        tuple(sizes.values()),
        tuple(sizes),
        axis_types=(AxisType.Auto,) * len(sizes),
        devices=jax.devices()[:count],
    )
    args, specs = arguments(**compiled)
    program = jax.shard_map(
        PROGRAMS[compiled["program"]],
        mesh=mesh,
        in_specs=specs,
        out_specs=P(),  # nobody looks at the result
        check_vma=False,
    )
    return traffic.of(program, *args, mesh=mesh), mesh


def arguments(program, shape=None, spec=(), dtype="float16", **_):
    """What the program is compiled for: shapes, and how they are sharded."""
    if shape is None:  # a training step
        sharded = program == "step with parameters sharded"
        weights = P(None, "x") if sharded else P()
        return (WEIGHTS, BATCH), (weights, P("x"))
    axes = (tuple(s) if isinstance(s, list) else s for s in spec)
    return (jax.ShapeDtypeStruct(shape, dtype),), (P(*axes),)


@functools.cache
def ours(name: str) -> float:
    """The figure in its unit, from the compiled program.

    µs, ms: how long it takes. GB/s: bytes gathered a second, or sent for a sum.
    × all-gather: the time of the second collective over that of the first.
    Ψ: the numbers that a device sends, over the number of parameters.
    """
    figure = _asked(published())[name]
    collectives, mesh = found(figure["compiled"])
    unit = figure["printed"]["unit"]
    if unit == "Ψ":
        size = WEIGHTS.size * WEIGHTS.dtype.itemsize
        return sum(c.sent or 0 for c in collectives) / size
    link = figure["compiled"]["link"]
    if isinstance(link, dict):
        link = traffic.Link("this cable", source="chapter 13", **link)
    times = [traffic.seconds([c], link, mesh) for c in collectives]
    if unit == "× all-gather":
        return times[1] / times[0]
    if unit == "GB/s":
        (one,) = collectives
        moved = one.bytes if one.op == "all-gather" else one.sent
        return moved / times[0] / 1e9
    return sum(times) * SCALE[unit]


def table(lang: str = "en") -> Table:
    """All of them: printed, ours, who is right, and what was measured where the
    publication says it.

    lang: en, zh-Hans or zh-Hant.
    """
    words = published(lang)
    rows = []
    for name, figure in published()["figures"].items():
        printed, again = figure["printed"], ours(name)
        rows.append(
            (
                figure["where"],
                words["figures"][name]["asked"][lang],
                f"{printed['figure']:,} {printed['unit']}",
                f"{again:,.4g} {printed['unit']}",
                words["verdicts"][printed["verdict"]][lang],
                _with_unit(printed) if "measured" in printed else "",
            )
        )
    columns = tuple(words["columns"][lang])
    return Table(columns, tuple(rows), left=(0, 1, 4), kind="figures")


class Folded(Table):
    """On a page, shown only to who clicks on the name of the last column."""

    def _repr_html_(self) -> str:
        summary = f"<summary>{html.escape(self.columns[-1])}</summary>"
        shown = super()._repr_html_()
        return f'<details class="minipod">{summary}{shown}</details>'


def reasons(lang: str = "en") -> Folded:
    """Why each published figure agrees with ours or does not, folded away.

    lang: en, zh-Hans or zh-Hant.
    """
    words = published(lang)
    rows = tuple(
        (
            figure["where"],
            words["verdicts"][figure["printed"]["verdict"]][lang],
            words["figures"][name]["why"][lang],
        )
        for name, figure in published()["figures"].items()
    )
    columns = tuple(words["reasons"][lang])
    return Folded(columns, rows, (0, 1, 2), kind="figures")


def measured(lang: str = "en") -> Table:
    """Those that somebody measured, chapter 13's own too: the bytes, the
    model's figure, the measured one, its time over the model's; the worst last.

    lang: en, zh-Hans or zh-Hant.
    """
    words, asked = published(lang), _asked(published())
    slower = {}
    for name, figure in asked.items():
        if seen := figure["printed"].get("measured"):
            rate = figure["printed"]["unit"] == "GB/s"
            slower[name] = ours(name) / seen if rate else seen / ours(name)
    rows = (
        (
            _asked(words)[name]["asked"][lang],
            f"{_array(asked[name]) / 1e6:,.1f} MB",
            f"{ours(name):,.3g} {asked[name]['printed']['unit']}",
            _with_unit(asked[name]["printed"]),
            f"{slower[name]:.1f}",
        )
        for name in sorted(slower, key=lambda name: slower[name])
    )
    columns = tuple(words["measured"][lang])
    return Table(columns, tuple(rows), left=(0,), kind="figures")


def _asked(words: dict[str, Any]) -> dict[str, Any]:
    """The publications' figures, and chapter 13's."""
    return words["figures"] | words["own"]


def _array(figure: dict[str, Any]) -> int:
    """The bytes of the array that the figure's only collective works on."""
    (one,) = found(figure["compiled"])[0]
    return one.bytes


def _with_unit(printed: dict[str, Any]) -> str:
    return f"{printed['measured']:,} {printed['unit']}"
