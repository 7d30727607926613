"""What a recorder needs of the machine, by the word that its row in book/recordings.toml has for it."""

import importlib.util
import os
import shutil
from collections.abc import Callable


def lacking(needs: list[str]) -> list[str]:
    """Why what a row needs is not here, a clause each; [] where all of it is."""
    return [why for need in needs if (why := NEEDS[need]())]


def _libtpu() -> str:
    from minipod.pods import compiler  # which imports JAX: here, for `make book` asks for none of this

    packages = " ".join(compiler.missing("tpu"))
    return packages and f"libtpu: `pip install {packages}`"


def _root() -> str:
    return "" if os.geteuid() == 0 else "to be run as root"


def _idle() -> str:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    return f"a machine with nothing else to do: the load is {load:.1f} on {cores} cores" if load > cores / 4 else ""


def _hosts() -> str:
    from minipod import hosts

    why = hosts.why_not(delay=True)
    return why and f"hosts of its own: {why}" or ""


def _program(name: str, package: str) -> Callable[[], str]:
    return lambda: "" if shutil.which(name) else f"{name}: install {package}"


def _neighbours() -> str:
    missing = [name for name in ("flax", "haiku", "mpi4jax") if not importlib.util.find_spec(name)]
    return f"{', '.join(missing)}: `pip install '.[neighbours]'`" if missing else ""


def _libraries() -> str:
    missing = [name for name in ("flax", "equinox", "optax", "maxtext") if not importlib.util.find_spec(name)]
    return f"{', '.join(missing)}: `pip install flax equinox optax 'maxtext[tpu]'`" if missing else ""


def _gpu() -> str:
    return "" if shutil.which("nvidia-smi") else "an NVIDIA GPU of 80 GB, and JAX for it"


def _grain() -> str:
    missing = [name for name in ("flax", "grain", "optax") if not importlib.util.find_spec(name)]
    return f"{', '.join(missing)}: `pip install flax grain optax`" if missing else ""


def _examples() -> str:
    missing = [name for name in ("llama3_jax", "qwen3_jax", "tqdm") if not importlib.util.find_spec(name)]
    where = "a copy of github.com/jax-ml/jax-llm-examples on PYTHONPATH, and tqdm"
    return f"{', '.join(missing)}: {where}" if missing else ""


NEEDS: dict[str, Callable[[], str]] = {
    "libtpu": _libtpu,
    "root": _root,
    "idle": _idle,
    "hosts": _hosts,
    "slurm": _program("slurmctld", "Debian's slurm-wlm"),
    "openmpi": _program("mpirun", "Debian's openmpi-bin"),
    "py-spy": _program("py-spy", "it with pip"),
    "neighbours": _neighbours,
    "libraries": _libraries,
    "examples": _examples,
    "gpu": _gpu,
    "grain": _grain,
    "torch": _program("torchrun", "torch and numpy with pip in an environment of its own, and put its bin/ on PATH"),
}
