"""What the processes of an incident left behind, as data."""

import json
import re
from pathlib import Path

RECORDED = Path(__file__).with_name("incidents.json")


def incidents():
    """All that are recorded: fault, process, line, reports (a text for each
    process)."""
    return json.loads(RECORDED.read_text())["incidents"]


def calls(report):
    """[(name, line)] of what the process asked for, in its order."""
    found = re.findall(r"^line (\d+): (.+)$", report, re.M)
    return [(name, int(line)) for line, name in found]


def stack(report):
    """[(file, line, function)] of its main thread, innermost first."""
    main = report.rpartition("Thread ")[2]
    found = re.findall(r'File "(.+)", line (\d+) in (.+)', main)
    return [(file, int(line), function) for file, line, function in found]
