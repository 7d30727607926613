"""python -m publish.audit.speed [CHAPTER …]: how long a chapter's check takes, as a multiple of what nobody can save.

That is to import JAX, and to start pytest on an empty file. The three take turns, so that a machine which slows down
slows them all; every cache is warm, and the inputs are the same each time.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from grader.exercise import chapters
from minipod.processes import environment
from publish import progress_line
from publish.outputs import needs
from publish.page import ROOT

LESSON = "ch03_sharding"
MOST = 1.3  # what its check may take on an idle machine with two cores


@dataclass(frozen=True)
class Took:
    """Seconds that a command took: on the clock, and of processors, its children's included."""

    clock: float
    work: float

    def __add__(self, other: "Took") -> "Took":
        return Took(self.clock + other.clock, self.work + other.work)


def took(folder: Path, *arguments: str) -> Took:
    """Run Python with these arguments in `folder`. RuntimeError where it fails."""
    env = environment.clean(PYTHONDONTWRITEBYTECODE="")  # bytecode is one of the caches
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True)
    clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 5):  # 5: pytest found no tests
        raise RuntimeError((done.stderr or done.stdout).strip()[-500:])
    return Took(clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def ratios(lesson: str, runs: int) -> list[Took]:
    """The check of a chapter's solutions ÷ import and empty pytest, as often as `runs`, after a run to warm up."""
    found: list[Took] = []
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "test_nothing.py").touch()
        for n in range(runs + 1):
            progress_line.step(f"{lesson}: {n}/{runs}")
            least = took(Path(empty), "-c", "import jax") + took(Path(empty), "-m", "pytest", "test_nothing.py")
            check = took(ROOT, "-m", "pytest", f"lessons/{lesson}", "--solutions", "--seed", "1")
            found.append(Took(check.clock / least.clock, check.work / least.work))
    return found[1:]


def line(lesson: str, found: list[Took]) -> str:
    """Medians, and between which bounds the clock's ratios lie."""
    clock = [one.clock for one in found]
    return (
        f"{lesson}: its check takes {median(clock):.2f} × (import jax + an empty pytest), of {len(found)} runs "
        f"{min(clock):.2f} to {max(clock):.2f}; of processor time {median(one.work for one in found):.2f} ×"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make speed", description=__doc__)
    parser.add_argument("chapters", metavar="CHAPTER", nargs="*", help=f"such as ch07 (default: {LESSON})")
    parser.add_argument("--runs", type=int, default=9, help="that count, of each (9)")
    options = parser.parse_args(arguments)
    for chapter in options.chapters or [LESSON]:
        named = chapters.named(ROOT / "lessons", chapter)
        if not named:
            print(f"there is no chapter {chapter}: name one as ch03", file=sys.stderr)
            return 2
        try:
            progress_line.done(line(named[0], ratios(named[0], options.runs)))
        except RuntimeError as error:
            progress_line.problem(f"{named[0]}: {error}")
            return 2
    print(f"wanted of {LESSON}, on two idle cores: at most {MOST} ×")
    for why in needs.lacking(["idle"]):
        print(f"the ratios by the clock want {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
