"""`python -m lessons class submissions/`: check a whole class, write class-report/class.html and class.csv.

The exit status is 0 when the run was complete, whatever was solved; 1 when a file changed meanwhile; 2 for bad input.
"""

import argparse
import math
import os
import random
import sys
import time
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import minipod
from grader.classroom import changed_files, isolation, sandbox_pool, tally
from grader.classroom.grading import ClassGrading
from grader.classroom.isolation import SandboxFiles
from grader.classroom.report import ClassRun, write_page
from grader.classroom.spreadsheet import write_csv
from grader.classroom.submissions import BadInput, find, shown
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.home import is_installed
from grader.messages import LANGUAGES, locale_language, say
from grader.run.warm_up import warm_up
from minipod import forked
from minipod.processes import environment

ENGINE = Path(minipod.__file__).parents[1]
PAGE, TABLE = "class.html", "class.csv"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(argv)
    lang = options.lang if options.lang in LANGUAGES else locale_language()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    try:
        if options.lang and options.lang not in LANGUAGES:
            raise BadInput("bad-language", value=options.lang, languages=", ".join(LANGUAGES))
        return _check(options, lang, console)
    except BadInput as error:
        print(say(error.key, lang, **error.values), file=sys.stderr)
        return 2
    except BlockingIOError as error:  # of a fork
        print(say("no-process", lang, error=error.strerror), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        forked.stop_all()
        print(say("class-stopped", lang), file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lessons class", description="Check the answers of a whole class.")
    parser.add_argument("submissions", type=Path, help="folder that holds a folder per student: NAME/ch03_sharding.py")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the report (default: class-report/ beside it)")
    parser.add_argument("--lang", help="en, zh-Hans or zh-Hant (default: from the locale)")
    parser.add_argument("--limit", metavar="SECONDS", default="20", help="wall clock of one answer (default: 20)")
    parser.add_argument("--memory", metavar="GiB", default="2", help="memory of one process (default: 2)")
    parser.add_argument("--seed", metavar="N", help="draw the inputs of that run again")
    parser.add_argument("--jobs", metavar="N", help="students at a time (default: one for each core)")
    parser.add_argument("--isolation", choices=["auto", *isolation.KINDS], default="auto", help="(default: the best)")
    parser.add_argument("--root", type=Path, default=ENGINE, help=argparse.SUPPRESS)
    return parser


def _check(options: argparse.Namespace, lang: str, console: Console) -> int:
    began = time.monotonic()
    root, folder = options.root.resolve(), options.submissions.absolute()
    if is_installed(root):
        raise BadInput("class-installed")
    out = (options.out or folder.resolve().parent / "class-report").absolute()
    settings = Settings(
        folder, _seed(options.seed), _positive(options.limit, "--limit"), _positive(options.memory, "--memory")
    )
    jobs = int(_positive(options.jobs or str(os.cpu_count() or 1), "--jobs", whole=True))
    catalogue = Catalogue(root / "lessons")
    students, others = find(folder, sorted({e.partition(".")[0] for e in catalogue.exercises}))
    _prepare_out(out, folder)
    if left_aside := environment.cleanse():
        console.print(say("left-aside", lang, names=", ".join(left_aside)))
    warm_up(root / ".cache" / "jax")
    files = SandboxFiles(root, [folder.resolve(), out.resolve()])
    kind = _choose(options.isolation, files)
    console.print(say(f"class-using-{kind}", lang))
    before = changed_files.checksums(root, folder, ENGINE)
    grading = ClassGrading(root, students, settings, lang, catalogue)
    with _progress(console) as progress:
        tasks = {}

        def tell(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = progress.add_task(say(step, lang), total=total)
            progress.update(tasks[step], completed=done)
            progress.refresh()

        grading.run(kind, files, jobs, tell)
    after = changed_files.checksums(root, folder, ENGINE)
    changed = [shown(path) for path in changed_files.changes(before, after)]
    values = {"limit": f"{settings.limit:g}", "memory": f"{settings.memory:g}", "processes": sandbox_pool.PROCESSES}
    about = _about(kind)
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    write_page(out / PAGE, ClassRun(grading, shown(str(folder)), about, values, changed, others, when))
    write_csv(out / TABLE, grading)
    _last_words(console, grading, out, changed, time.monotonic() - began)
    return 1 if changed else 0


def _positive(value: str, option: str, whole: bool = False) -> float:
    try:
        number = int(value) if whole else float(value)
    except ValueError:
        number = 0
    if not 0 < number < math.inf:
        raise BadInput("bad-number", option=option, value=value)
    return number


def _seed(value: str | None) -> int:
    if value is not None and not value.isdecimal():
        raise BadInput("bad-seed", value=value)
    return random.randrange(10**6) if value is None else int(value)


def _prepare_out(out: Path, folder: Path) -> None:
    """Make the report's folder. Raises BadInput when it cannot be one, or lies among the submissions."""
    if out.resolve().is_relative_to(folder.resolve()):
        raise BadInput("class-out-inside", out=shown(str(out)), folder=shown(str(folder)))
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in (PAGE, TABLE):
            with open(out / name, "a"):
                pass
    except OSError as error:
        raise BadInput("class-out-unwritable", out=shown(str(out)), error=error.strerror) from None


def _choose(wanted: str, files: SandboxFiles) -> str:
    """The kind of isolation that was asked for, or the best that works here. Raises BadInput when it does not."""
    secret = {*map(str, [*files.hidden, files.root / "solutions", *files.masked])}
    lessons = {*map(str, files.root.glob("lessons/ch[0-9]*/"))}
    kept = {*lessons, str(files.cache)}
    for kind in isolation.available() if wanted == "auto" else [wanted]:
        if kind not in isolation.available():
            raise BadInput("class-isolation-missing", kind=kind)
        try:
            tried = sandbox_pool.attempt(kind, files, [*secret, *kept])
        except sandbox_pool.SandboxLost:
            continue
        closed = not secret & {*tried.seen} and not kept & {*tried.writable}
        if tried.started == 2 and lessons <= {*tried.seen} and (closed or kind == "none"):
            return kind
    raise BadInput("class-isolation-fails", kind=wanted)


def _about(kind: str) -> list[str]:
    """What the report says about isolation, as message keys."""
    if kind == "none":
        return ["class-isolation-none", "class-limits", "class-forgery"]
    count = "class-count" if isolation.counts_processes(kind) else "class-no-count"
    return [f"class-isolation-{kind}", "class-sandbox", "class-limits", count, "class-open", "class-forgery"]


def _progress(console: Console) -> Progress:
    """Drawn when told to and by no thread of its own: this process forks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, auto_refresh=False, transient=True, disable=not console.is_terminal)


def _last_words(console: Console, grading: ClassGrading, out: Path, changed: list[str], seconds: float) -> None:
    lang = grading.lang
    counts = [tally.solved(grading, student) for student in grading.outcomes]
    values = {"students": len(counts), "exercises": len(grading.exercises), "solved": sum(counts)}
    values |= {"answers": len(counts) * len(grading.exercises), "seconds": f"{seconds:.0f}"}
    console.print(say("class-summary", lang, **values))
    if rows := tally.stuck(grading):
        console.print(say("class-summary-stuck", lang, exercise=rows[0].exercise, solved=rows[0].solved))
    console.print(say("class-written", lang, page=shown(str(out / PAGE)), table=TABLE))
    if changed:
        console.print(say("class-changed", lang), style="bold red")
        for path in changed[:20]:
            console.print(f"  {path}")


if __name__ == "__main__":
    sys.exit(main())
