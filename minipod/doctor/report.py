"""Collect all findings of one machine."""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from minipod.doctor.accelerators import accelerators, hardware
from minipod.doctor.findings import Finding
from minipod.doctor.gpus import held
from minipod.doctor.installed import graphviz, minipod, package, pods, python, system
from minipod.doctor.launcher import coordinator, launcher
from minipod.doctor.look import in_short
from minipod.doctor.machine import clock, cores, host_name, memory, open_files
from minipod.doctor.settings import settings
from minipod.processes import environment

Look = tuple[int, str, dict[str, Any]]  # exit code, last words, what was said
LOOK = ("-m", "minipod.doctor.look")
PSUM = """
import jax
from minipod.cluster import launch_arguments
jax.distributed.initialize(**launch_arguments())
mesh = jax.make_mesh((jax.device_count(),), ("x",))
one = lambda: jax.lax.psum(1.0, "x")
print(jax.jit(jax.shard_map(one, mesh=mesh, in_specs=(), out_specs=jax.P()))())
"""


def examine() -> list[Finding]:
    """Return all findings about this machine. This takes a few seconds, because it starts JAX several times."""
    findings = [minipod(), python(), *map(package, ("jax", "jaxlib")), system()]
    if platform.system() == "Windows":  # nothing below is of use there
        return findings
    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(examination) for examination in (with_jax, two_processes)]
        findings += [cores(), memory(), open_files(), clock(), graphviz(), pods(), settings()]
        findings += [finding for task in slow for finding in task.result()]
    return [*findings, pretend_hosts()]


def with_jax() -> list[Finding]:
    """Report what JAX finds with this environment's settings: devices and cluster."""
    bent = environment.bending()
    as_it_is = look(os.environ, *["no-simulation"] * bool(bent))
    clean = look(environment.clean()) if bent else as_it_is
    facts = as_it_is[2]
    early = "JAX starts before the program: does a sitecustomize or a .pth file start it?"
    findings = [own_devices(as_it_is, bent, works_without=not clean[0])]
    simulated = clean[2].get("simulated", clean[1])
    wrong = not simulated.startswith("8 cpu")
    advice = "JAX does not simulate eight CPU devices here: reinstall it"
    findings.append(Finding("Simulated", simulated, early if facts.get("early") else advice * wrong))
    if lacking := private_parts(facts.get("missing") or []):
        findings.append(lacking)
    if unused := accelerators((facts.get("devices") or {}).get("platform", "")):
        findings.append(unused)
    if taken := held():
        findings.append(taken)
    cluster = facts.get("cluster")
    if "cluster" in facts:
        findings.append(launcher(cluster, hardware().gpus))
    return [*findings, coordinator(cluster), host_name(bool(cluster))]


def private_parts(missing: Sequence[Sequence[str]]) -> Finding | None:
    """Report the private names that this JAX lacks, each as (name, consequence); None if `missing` is empty."""
    if not missing:
        return None
    names = ", ".join(name for name, _ in missing)
    consequences = "; ".join(dict.fromkeys(consequence for _, consequence in missing))
    advice = f"{consequences}: update minipod, or use a JAX that it was tested with"
    return Finding("JAX inside", f"this JAX has no {names}", advice, needed=False)


def own_devices(as_it_is: Look, bent: Mapping[str, str], works_without: bool) -> Finding:
    """Report the devices that JAX finds here. bent: settings; works_without: whether JAX starts without them."""
    code, last_line, facts = as_it_is
    if not code and "devices" in facts:
        return Finding("Devices", in_short(facts["devices"]))
    if bent and works_without:
        those = ", ".join(f"{name}={value}" for name, value in bent.items())
        return Finding(
            "Devices",
            last_line,
            f"JAX does not start with {those}: unset {'it' if len(bent) == 1 else 'them'}",
            needed=False,
        )
    return Finding(
        "Devices", last_line, "JAX does not start: if it is damaged, `pip install --force-reinstall jax jaxlib`"
    )


def look(env: Mapping[str, str], *arguments: str) -> Look:
    """Run `minipod.doctor.look` in a new process; return its exit code, its last line and the facts it reported."""
    code, last_line, output = _run((*LOOK, *arguments), env)
    facts: dict[str, Any] = {}
    for line in output.splitlines():
        if line.startswith("{"):
            facts |= json.loads(line)
    return code, last_line, facts


def two_processes() -> list[Finding]:
    """Check whether two processes on this machine can compute together."""
    from minipod.cluster import ClusterError, run

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "psum.py")
        program.write_text(PSUM)
        try:
            done = run(program, processes=2, devices=1, env=dict.fromkeys(environment.bending()))
        except ClusterError as error:
            advice = "two processes cannot compute together on 127.0.0.1"
            return [Finding("Processes", str(error.run.first_failure), advice)]
        except OSError as error:
            advice = "two processes cannot be started here"
            return [Finding("Processes", error.strerror or str(error), advice)]
    sums = ["2.0" if "2.0" in o.splitlines() else o.strip() for o in done.outputs]  # Python may print more
    value = f"two on 127.0.0.1 add 1 and 1 to {', '.join(sums)} in {done.seconds:.1f} s"
    wrong = "the sum should be 2.0 in both processes: please report this"
    return [Finding("Processes", value, "" if sums == ["2.0", "2.0"] else wrong)]


def pretend_hosts() -> Finding:
    """Check whether `minipod hosts` can simulate hosts here, and cables with a delay."""
    from minipod.hosts import why_not

    advice = why_not(delay=True) or ""
    value = "no" if why_not() else "without a delay" if advice else "2 to 4 can be simulated on this machine"
    return Finding("Hosts", value, advice, needed=False)


def _run(arguments: tuple[str, ...], env: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a new Python; return its exit code, its last line or the line that names its error, and all its output."""
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=env)
    except subprocess.TimeoutExpired as error:
        output = error.stdout.decode(errors="replace") if isinstance(error.stdout, bytes) else ""
        return 1, "no answer within 120 s", output
    except OSError as error:
        return 1, f"no process could be started: {error.strerror}", ""
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line) or "Unknown flag" in line]
    last = [*lines, *errors] if done.returncode else lines
    return done.returncode, last[-1] if last else f"exit status {done.returncode}", done.stdout
