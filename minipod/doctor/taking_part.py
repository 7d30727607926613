"""Run one process's share of `minipod doctor --cluster`: collect its facts and run JAX's part.

JAX runs in a separate process (`cluster_probe`), so that this one can report if JAX aborts or hangs.
"""

import contextlib
import os
import platform
import re
import socket
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from minipod.doctor.accelerators import hardware
from minipod.doctor.findings import as_rows
from minipod.doctor.installed import versions
from minipod.doctor.launcher import launcher, proxied
from minipod.doctor.machine import host_name, memory, open_files
from minipod.processes import Program, environment, json_lines
from minipod.processes.hang import suspended

# Compared beside those that bend JAX: what decides how processes talk, and which libraries they find.
COMPARED = ("NCCL_", "GLOO_", "FI_", "UCX_", "CUDA_", "LD_LIBRARY_PATH", "TPU_LIBRARY_PATH", "PYTHONHASHSEED")


FINALIZE = 10.0  # seconds that MPI has to end


class NoCluster(ValueError):
    """Raised if JAX's detector finds no cluster, or only some of its arguments; the message is one sentence."""


class Part:
    """The process that runs JAX's part. ended: its last words, once it has ended."""

    def __init__(self, seconds: float):
        """Start it, and wait for the answer of JAX's detector. Raises NoCluster."""
        self._errors = tempfile.TemporaryFile()
        read, write = os.pipe()
        command = [sys.executable, "-m", "minipod.doctor.cluster_probe", str(seconds)]
        self.program = Program(command, stdout=write, stderr=self._errors)
        os.close(write)
        self.fd, self._reader = read, json_lines.Reader(read)
        self.ended: str | None = None
        self.cluster: dict[str, Any] = {}
        try:
            self.cluster = self._cluster(seconds)
        except NoCluster:
            self.end()
            raise

    def _cluster(self, seconds: float) -> dict[str, Any]:
        try:
            cluster = self._reader.read(seconds)["cluster"]
        except TimeoutError:
            raise NoCluster(f"JAX did not start within {seconds:g} s") from None
        except (EOFError, json_lines.Garbled):
            raise NoCluster(f"JAX does not start: {self._last_words()}") from None
        if cluster is None:
            raise NoCluster(launcher(None).advice or "JAX finds no cluster")
        if "error" in cluster:
            raise NoCluster(f"{cluster['launcher']}: {cluster['error']}")
        return cluster

    def go(self) -> None:
        """Let JAX's part join the cluster."""
        assert self.program.stdin
        with contextlib.suppress(OSError):
            self.program.stdin.write(b"go\n")
            self.program.stdin.flush()

    def news(self) -> dict[str, Any]:
        """Return, without waiting, what JAX's part has newly reported: steps, or {"ended": last words}."""
        new: dict[str, Any] = {}
        if self.ended is not None:
            return new
        try:
            while True:
                new |= self._reader.read(0)
        except TimeoutError:
            pass
        except (EOFError, json_lines.Garbled):
            self.ended = self._last_words()
            new |= {"ended": self.ended}
        return new

    def last_line(self) -> str:
        """Return the last line that JAX's part has written to standard error so far."""
        if self._errors.closed:
            return ""
        size = os.fstat(self._errors.fileno()).st_size
        text = os.pread(self._errors.fileno(), 1 << 16, max(0, size - (1 << 16))).decode(errors="replace")
        return text.strip().rpartition("\n")[2][:300]

    def stopped(self) -> str:
        """Return how JAX's part is stopped, as `minipod.processes.hang.suspended`; "" if it is not."""
        return suspended(self.program.pid)

    def end(self) -> None:
        """End JAX's part and all that it started. Under MPI, this may wait for the other processes to end."""
        self.program.end(FINALIZE if self.cluster.get("method") == "mpi4py" and self.ended is None else 0.0)
        with contextlib.suppress(OSError):
            os.close(self.fd)
        self._errors.close()

    def _last_words(self) -> str:
        code = self.program.end(2.0)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
        aborts = [line for line in lines if re.match(r"[EF]\d{4} ", line)]
        last = next((some[-1] for some in (errors, aborts, lines) if some), "")
        return re.sub(r"^[EF]\d{4} .*?\] ", "", last)[:300] or f"exit code {code}"


def facts(cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return this process's facts: those to compare (`versions`, `settings`) and those that may differ."""
    env = os.environ
    settings = {n: v for n, v in env.items() if n in environment.bending() or n.startswith(COMPARED)}
    host = cluster["coordinator"].rpartition(":")[0].strip("[]")
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "launcher": cluster["launcher"],
        "processes": cluster["processes"],
        "coordinator": cluster["coordinator"],
        "local_devices": cluster["local_devices"],
        "versions": {"Python": platform.python_version(), **versions()},
        "machine": platform.machine(),
        "python": sys.executable,
        "settings": settings,
        "own": as_rows([memory(), open_files(), host_name(True), launcher(dict(cluster), hardware().gpus)]),
        "proxy": proxied(host, env),
        "time": time.time(),
    }
