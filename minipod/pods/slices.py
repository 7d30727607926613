"""The slices that one can have, by name: `v5e:4x4`. A name that libtpu does not know would abort the process that asks.

Shapes are those that Google Cloud offers, to 512 chips: cloud.google.com/tpu/docs/v4, v5e, v5p, v6e and tpu7x. What the
compiler leaves of a chip's memory to a program is what libtpu's own out-of-memory message says.
"""

import re
from dataclasses import dataclass
from math import prod

_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_DEEP = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "4x4x16", "8x8x8")


@dataclass(frozen=True)
class Generation:
    """A TPU generation.

    kind: what JAX calls its devices. chip: its name in `minipod.chips`. shapes: of its slices, in chips.
    limit: GiB of a device's memory that the compiler gives to a program, as libtpu 0.0.52 says it.
    options: what libtpu needs beside the name. devices: of JAX, for each chip.
    """

    kind: str
    chip: str
    shapes: tuple[str, ...]
    limit: float
    prefix: str = ""
    options: tuple[tuple[str, str], ...] = ()
    devices: int = 1


GENERATIONS = {
    "v4": Generation("TPU v4", "TPU v4", _DEEP, 30.75, options=(("chip_config_name", "megacore"),)),
    "v5e": Generation("TPU v5 lite", "TPU v5e", _FLAT, 15.75),
    "v5p": Generation("TPU v5", "TPU v5p", _DEEP, 95.73),
    "v6e": Generation("TPU v6 lite", "TPU v6e", _FLAT, 31.24),
    "7x": Generation("TPU7x", "TPU7x", _DEEP, 94.74, prefix="tpu", devices=2),
}


@dataclass(frozen=True)
class Slice:
    """Chips of one generation, joined in a torus of `shape`: (x, y) or (x, y, z) chips."""

    name: str
    generation: Generation
    shape: tuple[int, ...]

    @property
    def chips(self) -> int:
        return prod(self.shape)

    @property
    def devices(self) -> int:
        """JAX's devices: one a chip, but two on a chip of 7x."""
        return self.chips * self.generation.devices

    @property
    def topology(self) -> str:
        """The name that libtpu wants."""
        return self.generation.prefix + self.name

    def __str__(self) -> str:
        return self.name


def slice_of(name: str) -> Slice:
    """The slice of that name, such as `v5e:4x4` or `v4:4x4x8`. ValueError, with the names that there are, for another.

    `tpu7x:2x2x1`, as libtpu spells it, is `7x:2x2x1`.
    """
    generation, _, shape = name.strip().lower().removeprefix("tpu").partition(":")
    if generation not in GENERATIONS:
        raise ValueError(
            f"no slice is called {name!r}: a name is a generation ({', '.join(GENERATIONS)}), a colon, and a shape, "
            "such as v5e:4x4"
        )
    found = GENERATIONS[generation]
    if shape not in found.shapes:
        other = "x".join(sorted(shape.split("x"), key=lambda n: int(n) if n.isdecimal() else 0))
        meant = f" (the same chips are {other})" if re.fullmatch(r"[\dx]+", shape) and other in found.shapes else ""
        raise ValueError(f"no slice of {generation} is {shape or 'without a shape'}{meant}: {', '.join(found.shapes)}")
    return Slice(f"{generation}:{shape}", found, tuple(map(int, shape.split("x"))))
