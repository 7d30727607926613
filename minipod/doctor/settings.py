"""Check the environment's settings for JAX: those that JAX never reads, and those that conflict."""

import difflib
import functools
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

from minipod.doctor.findings import Finding
from minipod.processes import environment

_COUNT = "--xla_force_host_platform_device_count="


def settings(env: Mapping[str, str] = os.environ) -> Finding:
    """Report settings of JAX and the network, which the lessons ignore but your own programs do not."""
    set_here = [*environment.bending(env), *environment.proxies(env)]
    value = "none" if not set_here else f"{', '.join(set_here)}; ignored by the lessons and the book"
    advice = "; ".join(filter(None, (conflict(env), *map(unread, env))))
    return Finding("Settings", value, advice, needed=False)


def conflict(env: Mapping[str, str]) -> str:
    """Return a sentence if two settings ask for different numbers of CPU devices, and which of them wins; else ""."""
    asked, flags = env.get("JAX_NUM_CPU_DEVICES", ""), env.get("XLA_FLAGS", "")
    also = flags.rpartition(_COUNT)[2].split(" ")[0] if _COUNT in flags else ""
    if not (asked and also) or asked in (also, "-1"):  # -1 is as if it were not set
        return ""
    return f"JAX_NUM_CPU_DEVICES={asked} overrides {_COUNT}{also} in XLA_FLAGS: unset one of them"


def unread(name: str) -> str:
    """Return a sentence if `name` is a variable JAX_… that JAX does not know and never reads; else ""."""
    if not name.startswith("JAX_") or (known := names_in_jax()) is None or name in known:
        return ""
    near = difflib.get_close_matches(name, known, 1, 0.85)
    return f"JAX does not read {name}" + (f": did you mean {near[0]}?" if near else "")


@functools.cache
def names_in_jax() -> set[str] | None:
    """Return the variables that JAX's files mention, as JAX_NAME or as an option "jax_name"; None without JAX."""
    spec = importlib.util.find_spec("jax")
    if spec is None or not spec.origin:
        return None
    folder = Path(spec.origin).parent
    names: set[str] = set()
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8", errors="replace")
        names.update(name.upper() for name in re.findall(r"""["'](jax_\w+)["']""", text))
        names.update(re.findall(r"JAX_[A-Z0-9_]+", text))
    return names
