"""Find this machine's GPUs and TPU chips, and the reasons why JAX may not see them.

Sources: PCI's list of vendors and classes; NVIDIA's driver documentation (/dev/nvidia0 …); Cloud TPU's (/dev/accel0,
/dev/vfio/0, /tmp/libtpu_lockfile). Tested on folders that look like those of such machines, not on the machines.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from minipod import distribution
from minipod.doctor.findings import Finding
from minipod.doctor.installed import versions
from minipod.ranges import counted

_VENDORS = {"0x10de": "NVIDIA GPU", "0x1ae0": "TPU chip"}
_DISPLAY, _ACCELERATOR = ("0x03",), ("0x12", "0x08", "0xff", "0x00")  # classes of PCI: graphics; anything of Google's
_LOCK = "tmp/libtpu_lockfile"
_CUDA_13 = 580  # the oldest driver that runs it (docs.jax.dev, installation)


@dataclass(frozen=True)
class Hardware:
    """The machine's accelerators, whatever JAX sees. gpus, chips: on the bus or as device files, whichever are more."""

    gpus: int = 0
    chips: int = 0
    gpu_files: int = 0
    chip_files: tuple[str, ...] = ()


def hardware(root: Path = Path("/")) -> Hardware:
    """Count the accelerators on the bus and among the device files below `root`."""
    on_bus = {"NVIDIA GPU": 0, "TPU chip": 0}
    for device in (root / "sys/bus/pci/devices").glob("*"):
        with contextlib.suppress(OSError):
            vendor, kind = ((device / name).read_text().strip() for name in ("vendor", "class"))
            classes = _DISPLAY if vendor == "0x10de" else _ACCELERATOR
            if vendor in _VENDORS and kind.startswith(classes):
                on_bus[_VENDORS[vendor]] += 1
    gpus = len(list((root / "dev").glob("nvidia[0-9]*")))
    chips = [*(root / "dev").glob("accel[0-9]*"), *(root / "dev/vfio").glob("[0-9]*")]
    tpu = len(chips) if on_bus["TPU chip"] or any("accel" in c.name for c in chips) else 0  # vfio is for others, too
    files = tuple(map(str, chips)) if tpu else ()
    return Hardware(max(on_bus["NVIDIA GPU"], gpus), max(on_bus["TPU chip"], tpu), gpus, files)


def accelerators(
    platform: str, env: Mapping[str, str] = os.environ, root: Path = Path("/"), in_cluster: bool = False
) -> Finding | None:
    """Report accelerators, and whether JAX on `platform` ("" if it did not start) leaves them unused; None without any.

    in_cluster: unused accelerators are a fault unless the job has asked for CPUs.
    """
    here = hardware(root)
    parts = [counted(n, name) for n, name in ((here.gpus, "NVIDIA GPU"), (here.chips, "TPU chip")) if n]
    if not parts:
        return None
    value = f"{', '.join(parts)} in this machine"
    if platform not in ("", "cpu"):
        return Finding("Accelerators", f"{value}; JAX runs on platform {platform}")
    asked = _asked_for_cpu(env)
    why = asked or (_no_gpu(here, env) if here.gpus else _no_tpu(here, root))
    value += "; JAX runs on the CPU" if platform else "; JAX did not start"
    return Finding("Accelerators", value, why, needed=in_cluster and not asked)


def _asked_for_cpu(env: Mapping[str, str]) -> str:
    if "MINIPOD_COORDINATOR" in env:
        return "`minipod run` simulates CPU devices: to use these, start the processes with srun or mpirun"
    asked = env.get("JAX_PLATFORMS", "")
    return f"JAX_PLATFORMS={asked} makes JAX use the CPU: unset it" if asked.split(",")[0] == "cpu" else ""


def _no_gpu(here: Hardware, env: Mapping[str, str]) -> str:
    visible = env.get("CUDA_VISIBLE_DEVICES")
    if visible in ("", "-1", "none", "void", "NoDevFiles"):
        return (
            f"CUDA_VISIBLE_DEVICES={visible} hides all GPUs: list those to use (CUDA_VISIBLE_DEVICES=0), or ask Slurm "
            "for them (`srun --gpus=1`)"
        )
    if not here.gpu_files:
        return "there is no /dev/nvidia0: load NVIDIA's driver or, for a container, use `docker run --gpus all`"
    have = versions()
    plugins = [name for name in have if "cuda" in name and "plugin" in name]
    if not plugins:
        old = 0 < distribution.numbers(have.get("NVIDIA driver", ""))[0] < _CUDA_13
        return f'JAX cannot use NVIDIA GPUs without its plug-in: `pip install "jax[cuda{12 if old else 13}]"`'
    if have[plugins[0]] != have.get("jaxlib"):
        versions_differ = f"{plugins[0]} {have[plugins[0]]} does not match jaxlib {have.get('jaxlib')}"
        return f"{versions_differ}: install the same version of both"
    ask = "python -c 'import jax; jax.devices(\"cuda\")'"
    return f"to see what fails, run `nvidia-smi` and `{ask}`"


def _no_tpu(here: Hardware, root: Path) -> str:
    if holder := _holder(here, root):
        return f"process {holder} holds the TPU: end it, or wait until it ends"
    lock = root / _LOCK
    if lock.exists() and not os.access(lock, os.R_OK | os.W_OK):
        return f"libtpu may not open {lock}: if no other process uses the TPU, `sudo rm {lock}`"
    if "libtpu" not in versions():
        return 'JAX cannot use TPUs without libtpu: `pip install "jax[tpu]"`'
    return "to see why libtpu does not start, run `python -c 'import jax; jax.devices(\"tpu\")'`"


def _holder(here: Hardware, root: Path) -> str:
    """Name another process that has a TPU's device file or libtpu's lock open; "" if none is visible to us."""
    held = {*here.chip_files, str(root / _LOCK)}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            files = Path(f"/proc/{process.pid}/fd")
            if process.pid != os.getpid() and held & {os.readlink(entry) for entry in files.iterdir()}:
                return f"{process.pid} ({process.name()})"
    return ""
