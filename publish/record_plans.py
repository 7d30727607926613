"""python -m publish.record_plans [LESSON…]: record what compilers say about programs for machines that you do not have.

A line of a lesson's plans.txt has the arguments of `minipod plan`, with a file in the same folder; the plan goes to
plans.json. A file NAME_tpu.py has `report(ask, version)`, whose text goes to NAME_tpu.txt; `ask(function, *arguments)`
returns the compiler's answer (`minipod.pods.compile_process`). Differences from the earlier recording are printed.
This needs libtpu and flatbuffers, the extra `pods`; for h100, also JAX's CUDA plug-in.
"""

import argparse
import difflib
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import jax

from minipod.pods import recorded
from minipod.pods.compiler import Child, Missing, trace, versions
from minipod.pods.plan_command import prepared
from minipod.pods.planning import compiled
from publish import files, progress_line
from publish.page import ROOT, show

LIST = "plans.txt"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status, 1 if a plan could neither be made nor kept."""
    parser = argparse.ArgumentParser(prog="python -m publish.record_plans")
    parser.add_argument(
        "lessons",
        metavar="LESSON",
        nargs="*",
        help="lesson to record, such as ch15_pods (default: every lesson with plans)",
    )
    wanted = parser.parse_args(arguments).lessons

    def chosen(paths: list[Path]) -> list[Path]:
        return [path for path in paths if not wanted or path.parent.name in wanted]

    try:
        for path in chosen(reports(ROOT)):
            record_report(path)
        return int(not all([record(path) for path in chosen(lists(ROOT))]))
    except (ValueError, RuntimeError, OSError) as error:
        progress_line.problem(str(error))
        return 1


def lists(root: Path) -> list[Path]:
    """Return every plans.txt, in the order of the chapters."""
    return sorted(root.glob(f"lessons/*/{LIST}"))


def reports(root: Path) -> list[Path]:
    """Return every NAME_tpu.py, in the order of the chapters."""
    return sorted(root.glob("lessons/*/*_tpu.py"))


def report(path: Path) -> str:
    """Return a program's report on the TPU compiler's answers. Raises Missing (an OSError) without libtpu."""
    jax.config.update("jax_platforms", "cpu")  # or JAX would look for a TPU here
    sys.path.insert(0, str(path.parent))  # as when it is run
    try:
        with Child("tpu") as child:
            made = runpy.run_path(str(path))["report"]
            return made(lambda function, *given: child.ask(trace(function, *given)), versions()["libtpu"]) + "\n"
    finally:
        sys.path.remove(str(path.parent))
        for name, module in list(sys.modules.items()):  # another lesson has a model.py, too
            if Path(getattr(module, "__file__", None) or "/").parent == path.parent:
                del sys.modules[name]


def record_report(path: Path) -> None:
    """Write the report of a program, and print the lines that have changed."""
    into, text = path.with_suffix(".txt"), report(path)
    comparison = difflib.ndiff(files.read(into).splitlines(), text.splitlines())
    files.write(into, text)
    lines = [line for line in comparison if line.startswith(("- ", "+ "))]
    progress_line.done("\n".join([f"{show(into)}: {'changed' if lines else 'as before'}", *lines]))


def wanted(path: Path) -> list[argparse.Namespace]:
    """Return the plans that a list names: program (with its folder), on, mesh."""
    parser = argparse.ArgumentParser(prog=show(path), add_help=False)
    parser.add_argument("program")
    parser.add_argument("--on", required=True)
    parser.add_argument("--mesh", required=True)
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip() and not line.startswith("#")]
    plans = [parser.parse_args(line.split()) for line in lines]
    for each in plans:
        each.program = str(path.parent / each.program)
    return plans


def record(path: Path) -> bool:
    """Make the plans of one list and write the results next to it; plans that are no longer in the list are dropped.

    Plans for which this machine has no compiler are kept as they were. Returns False if there was none to keep.
    """
    before = {(e["place"], *e["names"]): e for e in recorded.load(path.parent)}
    entries = []
    for each in wanted(path):
        what = f"{each.program.rpartition(':')[2]} on {each.on}, {each.mesh}"
        traced = prepared(each.program, each.on, each.mesh)
        old = before.get((recorded.place(traced), *recorded.names(traced)))
        try:
            facts, _ = compiled(traced)
        except Missing as error:
            if old is None:
                progress_line.problem(f"{what}: {error}")
                continue
            entries.append(old)
            progress_line.done(f"{what}: kept as it was ({error})")
            continue
        made = versions(traced.on.generation.platform)
        entries.append(entry := recorded.entry(traced, json.loads(json.dumps(facts)), made))
        news = "new" if old is None else ", ".join(differences(old["facts"], entry["facts"])) or "as before"
        progress_line.done(f"{what}: {news}")
    recorded.save(entries, path.parent)
    return len(entries) == len(wanted(path))


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Return `memory.peak: 10 → 12` for each figure that differs; for a list whose length differs, the length."""
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
