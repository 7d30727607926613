"""Many logs read as one: python read_logs.py FOLDER [LINES]

By start and step, not by the clock: clocks differ, while no process ends a
step before all have begun it. Starts follow each other by process 0's clock.
What several processes say alike is one line.
"""

import re
import sys
import time
from collections import defaultdict
from pathlib import Path


def entries(path):
    """(start, step, time, process, text) of one log, in its order."""
    found = []
    for line in path.read_text(errors="replace").splitlines():
        head = line.split("\t", 4)
        if len(head) == 5:
            clock, start, step, process, text = head
            entry = int(start), int(step), float(clock), int(process), text
            found.append(entry)
        elif found and (own := in_short(line)):  # below it: a stack
            found[-1] = (*found[-1][:4], f"{found[-1][4]}\n    {own}")
    return found


def in_short(line):
    """A line of a stack, or "" where it is not in a program of ours."""
    if line.startswith("Timeout"):
        return "no step was finished in time: the stacks of all threads"
    frame = re.match(r'\s*File "(?:.*/)?([^/"]+)", (line \d+) in', line)
    library = "lib/python" in line or "<frozen" in line or "minipod/" in line
    return f"{frame[1]}, {frame[2]}" if frame and not library else ""


def merged(folder):
    """(start, step, processes, text), each text once, in order."""
    said = defaultdict(list)
    order = {}
    for path in sorted(Path(folder).glob("*.log")):
        for turn, entry in enumerate(entries(path)):
            start, step, _, process, text = entry
            said[start, step, text].append(process)
            order.setdefault((start, step, text), turn)
    for start, step, text in sorted(said, key=lambda k: (*k[:2], order[k])):
        yield start, step, said[start, step, text], text


def numbers(processes):
    """[0, 1, 2, 5] is "0-2,5"."""
    runs = []
    for p in sorted(set(processes)):
        if runs and runs[-1][1] == p - 1:
            runs[-1][1] = p
        else:
            runs.append([p, p])
    return ",".join(f"{a}-{b}" if b > a else f"{a}" for a, b in runs)


if __name__ == "__main__":
    lines, before = [], 0
    for start, step, processes, text in merged(sys.argv[1]):
        if start != before:
            clock = time.strftime("%H:%M:%S", time.gmtime(start))
            lines.append(f"--- started at {clock} UTC")
            before = start
        lines.append(f"[{numbers(processes)}] step {step}: {text}")
    print(*lines[-int((sys.argv[2:] or [10**6])[0]) :], sep="\n")
