"""Find the processes on each NVIDIA GPU with `nvidia-smi`: two of one cluster, or others that hold memory.

Seen on an H100: NCCL refuses two processes on one GPU at their first collective ("Duplicate GPU detected"), unless one
of them has already ended with RESOURCE_EXHAUSTED because the other had taken three quarters of the memory.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterable, Mapping

import psutil

from minipod.doctor.findings import Finding

MUCH = 0.1  # of a GPU's memory that somebody else holds
_MIB, _GIB = 2**20, 2**30


def identities(ordinals: Iterable[int], env: Mapping[str, str] = os.environ) -> list[str]:
    """Return the UUIDs of the GPUs that a process with `env` calls 0, 1, … (jax.Device.local_hardware_id).

    The list is empty if they are not certain: without nvidia-smi, without a name, or with parts of a GPU (MIG).
    """
    here = [row[0] for row in _ask("--query-gpu=uuid")]
    if (visible := env.get("CUDA_VISIBLE_DEVICES")) is not None:
        here = [_named(name.strip(), here) for name in visible.split(",")]
    chosen = [here[i] if 0 <= i < len(here) else "" for i in ordinals]
    return chosen if all(chosen) else []


def _named(name: str, here: list[str]) -> str:
    if name.isdigit():
        return here[int(name)] if int(name) < len(here) else ""
    return next((uuid for uuid in here if name.startswith("GPU-") and uuid.startswith(name)), "")


def held() -> Finding | None:
    """Report processes that hold memory of this machine's GPUs; None if little is held, or if nvidia-smi fails."""
    holders: dict[str, list[str]] = {}
    for uuid, pid in _ask("--query-compute-apps=gpu_uuid,pid"):
        with contextlib.suppress(ValueError):
            holders.setdefault(uuid, []).append(f"process {pid}{_name(int(pid))}")
    holdings = []
    for index, uuid, used, total in _ask("--query-gpu=index,uuid,memory.used,memory.total"):
        with contextlib.suppress(ValueError):
            taken, total_bytes = float(used) * _MIB, float(total) * _MIB
            if taken > MUCH * total_bytes:
                by = f" by {', '.join(holders[uuid])}" if uuid in holders else ""
                holdings.append(f"GPU {index}: {taken / _GIB:.1f} of {total_bytes / _GIB:.1f} GiB used{by}")
    if not holdings:
        return None
    advice = "free this memory, or let JAX take less (XLA_PYTHON_CLIENT_MEM_FRACTION=.25)"
    return Finding("GPU memory", "; ".join(holdings), advice, needed=False)


def _name(pid: int) -> str:
    """Return ` (python3)`; "" for a process that is not visible from here (a container's host has others)."""
    try:
        return f" ({psutil.Process(pid).name()})"
    except psutil.Error:
        return ""


def _ask(query: str) -> list[list[str]]:
    """Return the rows of nvidia-smi's answer; none if it is missing, fails or does not answer."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.strip()]
    return rows if done.returncode == 0 and all(len(row) == query.count(",") + 1 for row in rows) else []
