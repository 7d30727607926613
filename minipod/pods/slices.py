"""Find slices by name: `v5e:4x4`, or `2xv5e:4x4` for two slices, joined by the data centre's network.

Names are checked here, because libtpu aborts the process for a name that it does not know. The shapes are those that
Google Cloud offers, up to a whole pod: docs.cloud.google.com/tpu/docs/v4, v5e, v5p, v6e and tpu7x. In three dimensions,
a slice larger than 4 × 4 × 4 is any box of such cubes (Cloud gives one slice at most 6144 of a v5p pod's 8960 chips).
Cloud's own names have a number: that of chips for v5e and v6e, or that of TensorCores, two per chip, for v4, v5p and
7x. The shape is the most compact one for that number, as on those pages: `v5p-128` is `v5p:4x4x4`.

How much of a chip's memory a program may use is taken from libtpu's out-of-memory messages. `h100:8` is a host with
eight GPUs, joined by switches.
"""

import re
from dataclasses import dataclass
from math import prod

MOST = 100_000  # devices of a slice: libtpu numbers those of several slices from 100000, 200000, …
_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_DEEP = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "4x4x16", "8x8x8")
_CLOUD = {"v5litepod": "v5e", "trillium": "v6e", "ironwood": "7x"}  # Cloud's words in its names with numbers
_NAME = re.compile(r"(?:([0-9]+)x)?(?:tpu)?([a-z0-9]+)(?::(.*)|-([0-9]+))?")


@dataclass(frozen=True)
class Generation:
    """A TPU generation, or a GPU.

    kind: `device_kind` of its devices in JAX. chip: its name in `minipod.chips`. shapes: of its slices, in chips.
    pod: chips of the largest slice; in three dimensions, every box of cubes of 4 × 4 × 4 up to it is a slice, too.
    cores: TensorCores per chip, which Cloud counts. devices: JAX's devices per chip.
    limit: GiB of a device's memory that a program may use, according to libtpu 0.0.52; for a GPU, all of them.
    options: what the compiler needs in addition to the name. prefix: prefix of the name for libtpu.
    platform: "tpu" or "cuda", as for `jax.export`.
    """

    kind: str
    chip: str
    shapes: tuple[str, ...]
    limit: float
    pod: int
    cores: int = 1
    prefix: str = ""
    options: tuple[tuple[str, str], ...] = ()
    devices: int = 1
    platform: str = "tpu"


# The target configuration for XLA. Source: openxla/xla, xla/backends/gpu/target_config/specs/h100_sxm.
_H100 = """
gpu_device_info {
  threads_per_warp: 32 threads_per_block_limit: 1024 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448 shared_memory_per_core: 233472
  registers_per_block_limit: 65536 registers_per_core_limit: 65536 clock_rate_ghz: 1.98 l2_cache_size: 52428800
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  device_memory_size: 84942979072 memory_bandwidth: 3352320000000 cuda_compute_capability { major: 9 }
}
platform_name: "CUDA" device_description_str: "NVIDIA H100 80GB HBM3" dnn_version_info { major: 9 minor: 10 }
"""

GENERATIONS = {
    "v4": Generation("TPU v4", "TPU v4", _DEEP, 30.75, 4096, 2, options=(("chip_config_name", "megacore"),)),
    "v5e": Generation("TPU v5 lite", "TPU v5e", _FLAT, 15.75, 256),
    "v5p": Generation("TPU v5", "TPU v5p", _DEEP, 95.73, 8960, 2),
    "v6e": Generation("TPU v6 lite", "TPU v6e", _FLAT, 31.24, 256),
    "7x": Generation("TPU7x", "TPU7x", _DEEP, 94.74, 9216, 2, prefix="tpu", devices=2),
    "h100": Generation(
        "NVIDIA H100 80GB HBM3", "H100", ("1", "2", "4", "8"), 84942979072 / 2**30, 8,
        options=(("target_config", _H100),), platform="cuda",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Slice:
    """Chips of one generation in a torus of `shape`: (x, y) or (x, y, z) chips. For GPUs, (chips,), without a torus.

    count: number of such slices, joined by the data centre's network; `chips` and `devices` count all of them.
    """

    name: str
    generation: Generation
    shape: tuple[int, ...]
    count: int = 1

    @property
    def chips(self) -> int:
        return prod(self.shape) * self.count

    @property
    def devices(self) -> int:
        """Return the number of JAX's devices: one per chip, or two for 7x."""
        return self.chips * self.generation.devices

    @property
    def topology(self) -> str:
        """Return libtpu's name of one slice."""
        return self.generation.prefix + self.name.removeprefix(f"{self.count}x" if self.count > 1 else "")

    @property
    def options(self) -> dict[str, str | int]:
        """Return what the compiler needs in addition to the name: the number of slices, or the layout of GPUs."""
        gpus = {"topology": f"1x1x{self.chips}"} if self.generation.platform == "cuda" else {}
        several = {"num_slices": self.count} if self.count > 1 else {}
        return dict(self.generation.options) | gpus | several

    def __str__(self) -> str:
        return self.name


def slice_of(name: str) -> Slice:
    """Return the slice called `name`, such as `v5e:4x4`, `v5p-128` (Cloud's name) or `2xv5e:4x4` (two slices).

    `tpu7x:2x2x1`, as libtpu spells it, is `7x:2x2x1`. The `name` of the result always has the shape. Raises ValueError,
    listing the generations or the shapes that exist, for an unknown name.
    """
    parts = _NAME.fullmatch(name.strip().lower())
    generation = _CLOUD.get(parts[2], parts[2]) if parts else ""
    if parts is None or generation not in GENERATIONS:
        raise ValueError(
            f"no slice is called {name!r}: write GENERATION:SHAPE, such as v5e:4x4, or Cloud's name, such as v5e-16 "
            f"(generations: {', '.join(GENERATIONS)})"
        )
    kind, count = GENERATIONS[generation], int(parts[1] or 1)
    text = _shape_of(generation, int(parts[4])) if parts[4] and kind.platform == "tpu" else parts[3] or ""
    if text not in kind.shapes and not _of_cubes(text, kind):
        raise ValueError(_no_shape(generation, text))
    shape = tuple(map(int, text.split("x")))
    if not 0 < count * prod(shape) * kind.devices <= MOST or (count > 1 and kind.platform != "tpu"):
        several = f"1 to {MOST // prod(shape) // kind.devices} slices" if kind.platform == "tpu" else "one host"
        raise ValueError(f"{count}x{generation}:{text} cannot be planned: choose {several}")
    return Slice(f"{count}x{generation}:{text}" if count > 1 else f"{generation}:{text}", kind, shape, count)


def _of_cubes(text: str, kind: Generation) -> bool:
    """Return whether a shape is a box of cubes of 4 × 4 × 4, sides in ascending order, no larger than a pod."""
    if kind.shapes is not _DEEP or not re.fullmatch(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){2}", text):
        return False
    sides = [*map(int, text.split("x"))]
    return sides == sorted(sides) and all(n % 4 == 0 for n in sides) and prod(sides) <= kind.pod


def _shape_of(generation: str, number: int) -> str:
    """Cloud's default shape for its number: the most compact one with that many chips, its sides in ascending order."""
    kind = GENERATIONS[generation]
    chips = number // kind.cores
    cubes = chips // 64 if kind.shapes is _DEEP and chips % 64 == 0 and chips <= kind.pod else 0
    boxes = [(a, b, cubes // a // b) for a in range(1, cubes + 1) if cubes % a == 0 for b in range(a, cubes // a + 1)]
    shapes = [tuple(4 * n for n in box) for box in boxes if prod(box) == cubes and box[1] <= box[2]]
    shapes += [sides for shape in kind.shapes if prod(sides := tuple(map(int, shape.split("x")))) == chips]
    if not shapes or number % kind.cores:
        known = {kind.cores * prod(map(int, shape.split("x"))) for shape in kind.shapes}
        counts = ", ".join(map(str, sorted(known)))
        more = f", or a multiple of {64 * kind.cores} up to {kind.cores * kind.pod}" if kind.shapes is _DEEP else ""
        what = "TensorCores, two per chip" if kind.cores > 1 else "chips"
        raise ValueError(
            f"no slice is called {generation}-{number}: the number counts {what}, and can be {counts}{more}"
        )
    return "x".join(map(str, min(shapes, key=lambda sides: (sum(sides), sides))))


def _no_shape(generation: str, text: str) -> str:
    """Return the sentence for an unknown or missing shape."""
    kind = GENERATIONS[generation]
    other = "x".join(sorted(text.split("x"), key=lambda n: int(n) if n.isdecimal() else 0))
    known = other in kind.shapes or _of_cubes(other, kind)
    meant = f" (the same chips are {other})" if known and other != text else ""
    more = (
        f", or sides that are multiples of 4 in ascending order, up to {kind.pod} chips" if kind.shapes is _DEEP else ""
    )
    wrong = (
        f"no slice of {generation} has the shape {text}{meant}:"
        if text
        else f"{generation} needs a shape, as in {generation}:{kind.shapes[0]};"
    )
    return f"{wrong} choose from {', '.join(kind.shapes)}{more}"
