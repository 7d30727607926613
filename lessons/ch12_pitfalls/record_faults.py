"""Run every fault as JAX has it by default, without limits, and note how long
that takes: `python lessons/ch12_pitfalls/record_faults.py` (twenty minutes).

Six at a time, for most of them wait most of the time. Writes recorded.json.
What has not ended after 400 s counts as hanging.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from faults import FAULTS, Fault

from minipod.processes import free_port

HERE = Path(__file__).parent
LIMIT = 400  # seconds
# the program as it is, but with JAX's own timeouts in place of ours
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


def record(fault: Fault) -> dict[str, object]:
    """How it goes by default: seconds, exit codes, the last line printed."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [open(f"{folder}/{i}", "w+") for i in (0, 1)]
        address, began = f"127.0.0.1:{free_port()}", time.monotonic()
        started = [_start(fault, i, address, logs[i]) for i in (0, 1)]
        ended: list[int | None] = [None, None]
        while None in ended and time.monotonic() < began + LIMIT:
            time.sleep(0.1)
            for i, process in enumerate(started):
                if ended[i] is None and process.poll() is not None:
                    ended[i] = round(time.monotonic() - began)
        codes = [process.poll() for process in started]
        for process in started:
            os.killpg(
                process.pid, signal.SIGKILL
            ) if process.poll() is None else 0
        last = []
        for log in logs:
            log.seek(0)
            last.append((log.read().strip().splitlines() or [""])[-1][:300])
    over = f"> {LIMIT}"
    seconds = (
        over if None in ended else str(max(t for t in ended if t is not None))
    )
    return {"seconds": seconds, "each": ended, "codes": codes, "last": last}


def _start(fault: Fault, i: int, address: str, log) -> subprocess.Popen:
    env = {**os.environ, **fault.env[i], "PYTHONUNBUFFERED": "1"}
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
    env |= {"MINIPOD_COORDINATOR": address, "MINIPOD_PROCESSES": "2"}
    env |= {"MINIPOD_PROCESS": str(i), "MINIPOD_LIMIT": str(LIMIT)}
    env["PYTHONPATH"] = str(HERE.parents[1])
    command = [sys.executable, "-c", PLAIN, str(HERE / fault.program)]
    return subprocess.Popen(
        [*command, *fault.arguments],
        env=env,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


if __name__ == "__main__":
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(record, FAULTS))
    names = [fault.name for fault in FAULTS]
    recorded = {
        "jax": version("jax"),
        "faults": dict(zip(names, found, strict=True)),
    }
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    (HERE / "recorded.json").write_text(text + "\n")
