"""Bytes that leave each of two hosts: counted here and now where hosts can be
made, else as they were when record_two_hosts.py wrote two_hosts.json.
"""

import json
from pathlib import Path

from minipod import hosts

FOLDER = Path(__file__).parent
FILE = FOLDER / "two_hosts.json"
WAYS = (
    ("by grad", "0123"),
    ("by grad", "0213"),
    ("one_f_one_b", "0123"),
    ("interleaved", "0123"),
    ("data", "0123"),
)


def counted():
    """{"WAY ORDER": [bytes of a step that left each host]}, by a slow cable."""
    found = {}
    with hosts.lab(2, rate="100mbit", delay="5ms") as lab:
        for way in WAYS:
            done = lab.run(FOLDER / "across.py", *way, devices=2, limit=150)
            last = [text.strip().splitlines()[-1] for text in done.outputs]
            found[" ".join(way)] = [int(line) for line in last]
    return found


def left():
    """(what `counted` gives, where it comes from)."""
    if reason := hosts.why_not(delay=True):
        kept = json.loads(FILE.read_text("utf-8"))
        return kept["bytes"], f"recorded ({kept['when']}), since {reason}"
    return counted(), "counted where this page was executed"
