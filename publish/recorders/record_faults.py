"""Record how chapter 12's faults end by JAX's timeouts: recorded.json. Twenty minutes; nothing else should run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lessons.ch12_pitfalls.faults import FAULTS, HERE, Fault
from minipod.processes import free_port
from publish.recorders import ROOT, save, versions

LIMIT = 400  # seconds; what has not ended by then counts as hanging
AT_ONCE = 6  # most of them wait most of the time
# The program as it is, but with JAX's own timeouts in place of ours.
PLAIN = """
import runpy, sys
from minipod import cluster
ours = cluster.launch_arguments
names = ("coordinator_address", "num_processes", "process_id")
cluster.launch_arguments = lambda: {n: ours()[n] for n in names}
path, *sys.argv = sys.argv[1], *sys.argv[1:]
sys.path.insert(0, path.rpartition("/")[0])
runpy.run_path(path, run_name="__main__")
"""


def faults() -> dict[str, Any]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        recorded = list(pool.map(record, FAULTS))
    names = [fault.name for fault in FAULTS]
    return versions("jax") | {"faults": dict(zip(names, recorded, strict=True))}


def record(fault: Fault) -> dict[str, Any]:
    """Return how a fault goes by default: seconds, exit codes, and the last line of each process."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [open(f"{folder}/{i}", "w+") for i in (0, 1)]
        address, began = f"127.0.0.1:{free_port()}", time.monotonic()
        processes = [start(fault, i, address, logs[i]) for i in (0, 1)]
        ended: list[int | None] = [None, None]
        while None in ended and time.monotonic() < began + LIMIT:
            time.sleep(0.1)
            for i, process in enumerate(processes):
                if ended[i] is None and process.poll() is not None:
                    ended[i] = round(time.monotonic() - began)
        codes = [process.poll() for process in processes]
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        last = []
        for log in logs:
            log.seek(0)
            last.append((log.read().strip().splitlines() or [""])[-1][:300])
    times = [seconds for seconds in ended if seconds is not None]
    seconds = str(max(times)) if len(times) == len(ended) else f"> {LIMIT}"
    return {"seconds": seconds, "each": ended, "codes": codes, "last": last}


def start(fault: Fault, i: int, address: str, log: Any) -> subprocess.Popen[bytes]:
    env = {**os.environ, **fault.env[i], "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT)}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
    env |= {"MINIPOD_COORDINATOR": address, "MINIPOD_PROCESSES": "2"}
    env |= {"MINIPOD_PROCESS": str(i), "MINIPOD_LIMIT": str(LIMIT)}
    command = [sys.executable, "-c", PLAIN, str(HERE / fault.program), *fault.arguments]
    return subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)


if __name__ == "__main__":
    save(HERE / "recorded.json", faults())
