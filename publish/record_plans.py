"""python -m publish.record_plans: make every plan that a lesson's plans.txt names, and keep it in plans.json beside.

A line of plans.txt is what one gives to `minipod plan`, its file in the same folder. What is different from what was
recorded before is printed, figure by figure. It needs libtpu and flatbuffers, the extra `pods`; plans for GPUs are
kept as they are where the CUDA plug-in is missing.
"""

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from minipod.pods import recorded
from minipod.pods.command import prepared
from minipod.pods.compiler import Child, Missing, versions
from minipod.pods.making import compiled
from publish import progress_line
from publish.pages.page import ROOT, show

LIST = "plans.txt"


def main() -> int:
    """The exit status."""
    try:
        for path in lists(ROOT):
            record(path)
    except (Missing, ValueError, RuntimeError) as error:
        progress_line.problem(str(error))
        return 1
    return 0


def lists(root: Path) -> list[Path]:
    """Every plans.txt, in the order of the chapters."""
    return sorted(root.glob(f"lessons/*/{LIST}"))


def wanted(path: Path) -> list[argparse.Namespace]:
    """The plans that a list names: program (with its folder), on, mesh."""
    parser = argparse.ArgumentParser(prog=show(path), add_help=False)
    parser.add_argument("program")
    parser.add_argument("--on", required=True)
    parser.add_argument("--mesh", required=True)
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    found = [parser.parse_args(line.split()) for line in lines]
    for each in found:
        each.program = str(path.parent / each.program)
    return found


def record(path: Path) -> None:
    """Make the plans of one list, and write what came of them beside it. What is no longer wanted goes."""
    before = {(e["place"], *e["names"]): e for e in recorded.load(path.parent)}
    entries = []
    with ExitStack() as stack:
        children: dict[str, Child | None] = {}
        for each in wanted(path):
            traced = prepared(each.program, each.on, each.mesh)
            platform = traced.on.generation.platform
            old = before.get((recorded.place(traced), *dict.fromkeys((traced.name, traced.function))))
            if platform not in children:
                children[platform] = _child(platform, stack, must=old is None or platform == "tpu")
            if (child := children[platform]) is None and old:
                entries.append(old)
                said = "kept: no compiler for it here"
            else:
                found, _ = compiled(traced, child)
                entries.append(entry := recorded.entry(traced, json.loads(json.dumps(found)), versions(platform)))
                said = ", ".join(differences(old["facts"], entry["facts"])) or "as before" if old else "new"
            progress_line.done(f"{each.program.rpartition(':')[2]} on {each.on}, {each.mesh}: {said}")
    recorded.save(entries, path.parent)


def _child(platform: str, stack: ExitStack, must: bool) -> Child | None:
    """A compiler for the platform; None where there is none here, unless it `must` be: then Missing."""
    try:
        return stack.enter_context(Child(platform))
    except Missing:
        if must:
            raise
        return None


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """`memory.peak: 10 → 12`, for each figure that differs; of a list whose length differs, the length."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = dict.fromkeys([*old, *new])
        parts = [differences(old.get(n), new.get(n), f"{where}.{n}" if where else n) for n in names]
        return [line for part in parts for line in part]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{where}: {len(old)} → {len(new)}"]
        parts = [differences(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(old, new, strict=True))]
        return [line for part in parts for line in part]
    return [] if old == new else [f"{where}: {old} → {new}"]


if __name__ == "__main__":
    sys.exit(main())
