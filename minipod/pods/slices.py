"""The slices that one can have, by name: `v5e:4x4`. A name that libtpu does not know would abort the process that asks.

Shapes are those that Google Cloud offers, to 512 chips: cloud.google.com/tpu/docs/v4, v5e, v5p, v6e and tpu7x. What the
compiler leaves of a chip's memory to a program is what libtpu's own out-of-memory message says. `h100:8` is a host with
eight GPUs, each joined to each by switches.
"""

import re
from dataclasses import dataclass
from math import prod

_FLAT = ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_DEEP = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "4x4x16", "8x8x8")


@dataclass(frozen=True)
class Generation:
    """A TPU generation, or a GPU.

    kind: what JAX calls its devices. chip: its name in `minipod.chips`. shapes: of its slices, in chips.
    limit: GiB of a device's memory that the compiler gives to a program, as libtpu 0.0.52 says it.
    options: what the compiler needs beside the name. devices: of JAX, for each chip.
    platform: "tpu" or "cuda", as `jax.export` says it.
    """

    kind: str
    chip: str
    shapes: tuple[str, ...]
    limit: float
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
    "v4": Generation("TPU v4", "TPU v4", _DEEP, 30.75, options=(("chip_config_name", "megacore"),)),
    "v5e": Generation("TPU v5 lite", "TPU v5e", _FLAT, 15.75),
    "v5p": Generation("TPU v5", "TPU v5p", _DEEP, 95.73),
    "v6e": Generation("TPU v6 lite", "TPU v6e", _FLAT, 31.24),
    "7x": Generation("TPU7x", "TPU7x", _DEEP, 94.74, prefix="tpu", devices=2),
    "h100": Generation(
        "NVIDIA H100 80GB HBM3", "H100", ("1", "2", "4", "8"), 84942979072 / 2**30,
        options=(("target_config", _H100),), platform="cuda",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Slice:
    """Chips of one generation, joined in a torus of `shape`: (x, y) or (x, y, z) chips. GPUs have (chips,) and none."""

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

    @property
    def options(self) -> dict[str, str]:
        """What the compiler wants beside the name; of GPUs, how many partitions of hosts of GPUs there are."""
        gpus = {"topology": f"1x1x{self.chips}"} if self.generation.platform == "cuda" else {}
        return dict(self.generation.options) | gpus

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
