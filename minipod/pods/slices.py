"""The slices that one can have, by name: `v5e:4x4`, or `2xv5e:4x4`: two, joined by the data centre's network.

A name that libtpu does not know would abort the process that asks, so names are checked here. Shapes are those that
Google Cloud has, up to a whole pod: docs.cloud.google.com/tpu/docs/v4, v5e, v5p, v6e and tpu7x. In three dimensions
what is larger than a cube of 4 × 4 × 4 is any box of such cubes (of a v5p pod's 8960 chips Cloud gives one slice 6144
at most). Cloud's own names have a number: of chips on v5e and v6e, of TensorCores on v4, v5p and 7x, two a chip. The
shape is the one that those pages print for so many chips, the most compact: `v5p-128` is `v5p:4x4x4`.

What the compiler leaves of a chip's memory to a program is what libtpu's own out-of-memory message says. `h100:8` is a
host with eight GPUs, each joined to each by switches.
"""

import re
from dataclasses import dataclass
from math import prod

MOST = 100_000  # devices: libtpu counts those of several slices from 100000, 200000, …
_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_DEEP = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "4x4x16", "8x8x8")
_CLOUD = {"v5litepod": "v5e", "trillium": "v6e", "ironwood": "7x"}  # what Cloud calls them beside their numbers
_NAME = re.compile(r"(?:([0-9]+)x)?(?:tpu)?([a-z0-9]+)(?::(.*)|-([0-9]+))?")


@dataclass(frozen=True)
class Generation:
    """A TPU generation, or a GPU.

    kind: what JAX calls its devices. chip: its name in `minipod.chips`. shapes: of its slices, in chips.
    pod: chips of the largest slice; where the shapes are boxes, any box of cubes of 4 × 4 × 4 up to it is one, too.
    cores: TensorCores on a chip, by which Cloud counts.
    limit: GiB of a device's memory that the compiler gives to a program, as libtpu 0.0.52 says it.
    options: what the compiler needs beside the name. devices: of JAX, for each chip.
    platform: "tpu" or "cuda", as `jax.export` says it.
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


# What XLA wants to know of a GPU that is not here. Source: openxla/xla, xla/backends/gpu/target_config/specs/h100_sxm.
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
    """Chips of one generation, joined in a torus of `shape`: (x, y) or (x, y, z) chips. GPUs have (chips,) and none.

    count: how many such slices are joined by the data centre's network; `chips` and `devices` are of all of them.
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
        """JAX's devices: one a chip, but two on a chip of 7x."""
        return self.chips * self.generation.devices

    @property
    def topology(self) -> str:
        """The name that libtpu wants: of one slice."""
        return self.generation.prefix + self.name.removeprefix(f"{self.count}x" if self.count > 1 else "")

    @property
    def options(self) -> dict[str, str | int]:
        """What the compiler wants beside the name: how many slices; of GPUs, how many partitions of hosts of GPUs."""
        gpus = {"topology": f"1x1x{self.chips}"} if self.generation.platform == "cuda" else {}
        several = {"num_slices": self.count} if self.count > 1 else {}
        return dict(self.generation.options) | gpus | several

    def __str__(self) -> str:
        return self.name


def slice_of(name: str) -> Slice:
    """The slice of that name: `v5e:4x4`, `v4:4x4x8`, Cloud's `v5p-128`, or several of one, `2xv5e:4x4`.

    `tpu7x:2x2x1`, as libtpu spells it, is `7x:2x2x1`. The name of what is returned always has the shape. ValueError,
    with what there is instead, for another.
    """
    parts = _NAME.fullmatch(name.strip().lower())
    generation = _CLOUD.get(parts[2], parts[2]) if parts else ""
    if parts is None or generation not in GENERATIONS:
        raise ValueError(
            f"no slice is called {name!r}: a name is a generation ({', '.join(GENERATIONS)}), a colon, and a shape, "
            "such as v5e:4x4, or what Cloud calls it, such as v5e-16"
        )
    found, count = GENERATIONS[generation], int(parts[1] or 1)
    text = _shape_of(generation, int(parts[4])) if parts[4] and found.platform == "tpu" else parts[3] or ""
    if text not in found.shapes and not _of_cubes(text, found):
        raise ValueError(_no_shape(generation, text))
    shape = tuple(map(int, text.split("x")))
    if not 0 < count * prod(shape) * found.devices <= MOST or (count > 1 and found.platform != "tpu"):
        several = f"1 to {MOST // prod(shape) // found.devices}" if found.platform == "tpu" else "one host only"
        raise ValueError(f"{count} times {generation}:{text} cannot be planned: {several}")
    return Slice(f"{count}x" * (count > 1) + f"{generation}:{text}", found, shape, count)


def _of_cubes(text: str, found: Generation) -> bool:
    """Is that a box of cubes of 4 × 4 × 4, its sides in ascending order, no larger than a pod?"""
    if found.shapes is not _DEEP or not re.fullmatch(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){2}", text):
        return False
    sides = [*map(int, text.split("x"))]
    return sides == sorted(sides) and all(n % 4 == 0 for n in sides) and prod(sides) <= found.pod


def _shape_of(generation: str, number: int) -> str:
    """The shape that Cloud has by default for its number: of all with as many chips the most compact, sides sorted."""
    found = GENERATIONS[generation]
    chips = number // found.cores
    cubes = chips // 64 if found.shapes is _DEEP and chips % 64 == 0 and chips <= found.pod else 0
    boxes = [(a, b, cubes // a // b) for a in range(1, cubes + 1) if cubes % a == 0 for b in range(a, cubes // a + 1)]
    shapes = [tuple(4 * n for n in box) for box in boxes if prod(box) == cubes and box[1] <= box[2]]
    shapes += [sides for shape in found.shapes if prod(sides := tuple(map(int, shape.split("x")))) == chips]
    if not shapes or number % found.cores:
        known = {found.cores * prod(map(int, shape.split("x"))) for shape in found.shapes}
        counts = ", ".join(map(str, sorted(known)))
        more = f", and multiples of {64 * found.cores} to {found.cores * found.pod}" if found.shapes is _DEEP else ""
        what = "TensorCores, two a chip" if found.cores > 1 else "chips"
        raise ValueError(f"no slice of {generation} has the number {number}, which counts {what}: {counts}{more}")
    return "x".join(map(str, min(shapes, key=lambda sides: (sum(sides), sides))))


def _no_shape(generation: str, text: str) -> str:
    """The sentence for a shape that there is not."""
    found = GENERATIONS[generation]
    other = "x".join(sorted(text.split("x"), key=lambda n: int(n) if n.isdecimal() else 0))
    meant = (
        f" (the same chips are {other})" if other != text and (other in found.shapes or _of_cubes(other, found)) else ""
    )
    more = f", and multiples of 4 in ascending order, to {found.pod} chips" if found.shapes is _DEEP else ""
    return f"no slice of {generation} is {text or 'without a shape'}{meant}: {', '.join(found.shapes)}{more}"
