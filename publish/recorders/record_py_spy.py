"""Record what py-spy reports about a process that hangs, run as root and as a different user: py_spy.txt of chapter 12.

It needs root, py-spy on the PATH, and Linux's setpriv.
"""

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import psutil

from minipod import cluster
from publish.recorders import LESSONS

HERE = LESSONS / "ch12_pitfalls"
PROGRAM = HERE / "late_log.py"
SOMEBODY = "setpriv --reuid 12345 --clear-groups".split()


def process_0() -> int:
    """Return the pid of the first process that runs the program, not that of its launcher."""
    running = [
        process
        for process in psutil.process_iter(["cmdline", "create_time"])
        if str(PROGRAM) in (process.info["cmdline"] or []) and not process.children()
    ]
    return min(running, key=lambda process: process.info["create_time"]).pid


def dump(pid: int, *before: str) -> str:
    command = [*before, "py-spy", "dump", "--pid", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    text = done.stdout.strip() or done.stderr.strip()
    text = re.sub(r"    .*(minipod/|<frozen|<string>|runpy).*\n?", "", text)
    text = re.sub(r"\(/[^)]*-packages/", "(", text)
    text = re.sub(r"(Process|\(PID|pid|Thread) \d+", r"\1 …", text)
    text = re.sub(r"(?<=[ (])/[^\s)]*/(python[.\d]*|\w+\.py)", r"\1", text)
    typed = " ".join([*before[:1], "py-spy dump --pid …"])
    return f"$ {typed}\n{text}"


if __name__ == "__main__":
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(cluster.run, PROGRAM, limit=40.0, check=False)
        time.sleep(20)  # by then it hangs
        pid = process_0()
        dumps = [dump(pid), dump(pid, *SOMEBODY)]
        run.result()
    version = subprocess.check_output(["py-spy", "--version"], text=True)
    (HERE / "py_spy.txt").write_text("\n\n".join(dumps) + f"\n\n({version.strip()})\n")
