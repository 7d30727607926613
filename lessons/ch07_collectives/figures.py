"""Measured figures, each beside the model's for a program of its mesh.

The programs are compiled for simulated devices, and not run. A bf16 array of a
publication is a float16 one here: it has as many bytes, and the CPU compiler,
which turns bf16 into f32, leaves it alone.
"""

import functools
import tomllib
from math import prod
from pathlib import Path
from typing import Any

import jax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

from lessons.ch07_collectives.programs import PROGRAMS
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
            "simulate(32) before anything that uses a device"
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


def arguments(shape, spec, dtype="float16", **_):
    """What the program is compiled for: shapes, and how they are sharded."""
    axes = (tuple(s) if isinstance(s, list) else s for s in spec)
    return (jax.ShapeDtypeStruct(shape, dtype),), (P(*axes),)


@functools.cache
def ours(name: str) -> float:
    """The figure in its unit, from the compiled program.

    µs, ms: how long it takes. GB/s: bytes sent a second for a sum.
    """
    figure = _asked(published())[name]
    collectives, mesh = found(figure["compiled"])
    unit = figure["printed"]["unit"]
    link = figure["compiled"]["link"]
    if isinstance(link, dict):
        link = traffic.Link("this cable", source="chapter 13", **link)
    seconds = traffic.seconds(collectives, link, mesh)
    if unit == "GB/s":
        return traffic.total(collectives) / seconds / 1e9
    return seconds * SCALE[unit]


def measured(lang: str = "en") -> Table:
    """Those that somebody measured, chapter 13's own too: the bytes, the
    model's figure, the measured one, its time over the model's; the worst last.

    lang: en, zh-Hans or zh-Hant.
    """
    words, asked = published(lang), _asked(published())
    slower = {}
    for name, figure in asked.items():
        seen, rate = (
            figure["printed"]["measured"],
            figure["printed"]["unit"] == "GB/s",
        )
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
