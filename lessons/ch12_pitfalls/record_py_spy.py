"""Ask py-spy where a process stands that hangs, as root and as somebody else:
`sudo python lessons/ch12_pitfalls/record_py_spy.py` (needs py-spy on the PATH
and Linux's setpriv). Writes py_spy.txt."""

import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from minipod import cluster

HERE = Path(__file__).parent
PROGRAM = HERE / "late_log.py"
SOMEBODY = "setpriv --reuid 12345 --clear-groups".split()


def programs() -> list[int]:
    """The processes that run the program, process 0 first: those without a
    process of their own."""
    found = [
        p
        for p in psutil.process_iter(["cmdline", "create_time"])
        if str(PROGRAM) in (p.info["cmdline"] or []) and not p.children()
    ]
    return [p.pid for p in sorted(found, key=lambda p: p.info["create_time"])]


def dump(pid: int, *before: str) -> str:
    command = [*before, "py-spy", "dump", "--pid", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    text = done.stdout.strip() or done.stderr.strip()
    text = re.sub(r"    .*(minipod/|<frozen|<string>|runpy).*\n?", "", text)
    text = re.sub(r"\(/[^)]*-packages/", "(", text)
    text = re.sub(r"(Process|\(PID|pid|Thread) \d+", r"\1 …", text)
    text = re.sub(r"(?<=[ (])/[^\s)]*/(python[.\d]*|\w+\.py)", r"\1", text)
    asked = " ".join([*before[:1], "py-spy dump --pid …"])
    return f"$ {asked}\n{text}"


if __name__ == "__main__":
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(cluster.run, PROGRAM, limit=40.0, check=False)
        time.sleep(20)  # by then it hangs
        first, *_ = programs()
        said = [dump(first), dump(first, *SOMEBODY)]
        running.result()
    version = subprocess.check_output(["py-spy", "--version"], text=True)
    text = "\n\n".join(said) + f"\n\n({version.strip()})\n"
    (HERE / "py_spy.txt").write_text(text)
