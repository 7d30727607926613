"""Run `python -m lessons class submissions/`: check a whole class, write class-report/class.html and class.csv.

The exit status is 0 when the run was complete, however many answers are right; 1 when a file changed during the run;
2 for bad input, or if no sandbox or process can be made; 130 or 143 if it was interrupted: then the previous report
is kept.
"""

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from rich.console import Console

import minipod
from grader.classroom import changed_files, parts, run_files
from grader.classroom.grading import OWN_MEMORY, ClassGrading
from grader.classroom.results import tally
from grader.classroom.results.class_page import ClassRun, write_page
from grader.classroom.results.progress_lines import ProgressLines
from grader.classroom.results.spreadsheet import write_csv
from grader.classroom.run_files import RunFiles
from grader.classroom.sandbox import isolation, sandbox_pool, shares
from grader.classroom.sandbox.isolation import SandboxFiles
from grader.classroom.submissions import BadInput, Student, find, shown
from grader.exercise import chapters
from grader.exercise.exercises import Catalogue
from grader.exercise.spec import Settings
from grader.messages import LANGUAGES, locale_language, positive, say
from grader.run.warm_up import warm_up
from minipod import forked
from minipod.processes import environment

ENGINE = Path(minipod.__file__).parents[1]
PAGE, TABLE = "class.html", "class.csv"


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = _parser().parse_args(argv)
    lang = options.lang if options.lang in LANGUAGES else locale_language()
    console = Console(highlight=False, markup=False, soft_wrap=True)
    signal.signal(signal.SIGTERM, _stop)
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
    except KeyboardInterrupt as stopped:
        forked.stop_all()
        print(say("class-stopped", lang), file=sys.stderr)
        return 128 + (stopped.args[0] if stopped.args else signal.SIGINT)
    finally:
        run_files.remove()


def _stop(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lessons class", description="Check the answers of a whole class.")
    parser.add_argument("submissions", type=Path, help="a folder with one folder per student: NAME/ch03_sharding.py")
    parser.add_argument(
        "--lessons", metavar="CH01,CH03", help="check these chapters (default: every chapter that a student handed in)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where to write the report (default: class-report/, next to the folder of submissions)",
    )
    parser.add_argument("--lang", help="language: en, zh-Hans or zh-Hant (default: from the locale)")
    parser.add_argument(
        "--limit", metavar="SECONDS", default="20", help="seconds that one answer may run (default: 20)"
    )
    parser.add_argument(
        "--memory", metavar="GiB", default="2", help="GiB of memory that a process may use (default: 2)"
    )
    parser.add_argument("--seed", metavar="N", help="seed of the inputs (default: drawn once for these submissions)")
    parser.add_argument(
        "--jobs", metavar="N", help="number of students to check at the same time (default: one per core)"
    )
    parser.add_argument(
        "--part",
        metavar="3/10",
        help="for job arrays: check only part 3 of the class's 10 parts; the part that finishes last writes the report",
    )
    parser.add_argument(
        "--isolation",
        choices=["auto", *isolation.KINDS],
        default="auto",
        help="kind of sandbox to run the answers in, or none (default: the best kind that works here)",
    )
    parser.add_argument("--root", type=Path, default=ENGINE, help=argparse.SUPPRESS)
    return parser


def _check(options: argparse.Namespace, lang: str, console: Console) -> int:
    began = time.monotonic()
    root, folder = options.root.resolve(), options.submissions.absolute()
    out = (options.out or folder.resolve().parent / "class-report").absolute()
    try:
        limit, memory = (positive(f"--{name}", getattr(options, name), lang) for name in ("limit", "memory"))
        jobs = int(positive("--jobs", options.jobs or str(_cores()), lang, whole=True))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    wanted, share = _seed(options.seed), parts.share(options.part) if options.part else None
    catalogue = Catalogue(root / "lessons")
    students, others = find(folder, sorted({e.partition(".")[0] for e in catalogue.exercises}))
    _prepare_out(out, folder)
    lessons = _lessons(options.lessons, root, students, folder)
    settings = Settings(folder, run_files.seed(root, folder) if wanted is None else wanted, limit, memory)
    if left_aside := environment.cleanse():
        console.print(say("left-aside", lang, names=", ".join(left_aside)))
    private = RunFiles(root)
    warm_up(private.compiled)
    files = SandboxFiles(root, [folder.resolve(), out.resolve()], private.operations, private.pycache)
    kind, refused = _choose(options.isolation, files, lang)
    console.print(say(f"class-using-{kind}", lang))
    exercises = [e for e in catalogue.exercises if e.partition(".")[0] in lessons]
    whole = ClassGrading(root, students, settings, lang, catalogue, exercises)
    mine = share.students(students) if share else students
    grading = ClassGrading(root, mine, settings, lang, catalogue, exercises) if share else whole
    key = parts.key(grading, mine) if share else ""
    with ProgressLines(console, lang) as progress, private.without_walls() if kind == "none" else nullcontext():
        grading.prepare(progress.tell)
        private.share_operations()
        before = changed_files.fingerprints(root, folder, ENGINE, walls=kind != "none")
        grading.run(kind, files, jobs, progress.tell)
    after = changed_files.fingerprints(root, folder, ENGINE, walls=kind != "none")
    changed = [shown(path) for path in changed_files.changes(before, after)]
    isolated = _about(kind, refused, grading)
    seconds, work = time.monotonic() - began, _processor_seconds()
    if share:
        parts.write(share.path(out), _part(key, grading, isolated, changed, seconds, work))
        all_parts = _all_parts(share, whole, out, console)
        if all_parts is None:
            _say_changed(console, lang, changed)
            return 1 if changed else 0
        parts.merged(whole, all_parts)
        isolated = list(dict.fromkeys(each for part in all_parts for each in part.isolation))
        changed = sorted({path for part in all_parts for path in part.changed})
        seconds, work = max(part.seconds for part in all_parts), sum(part.work for part in all_parts)
    values: dict[str, object] = {"limit": f"{limit:g}", "memory": f"{memory:g}", "processes": sandbox_pool.PROCESSES}
    values |= {"more": f"{OWN_MEMORY:g}", "told": ", ".join(whole.self_reported) or "–"}
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    write_page(out / PAGE, ClassRun(whole, shown(str(folder)), isolated, values, changed, others, when))
    write_csv(out / TABLE, whole)
    _last_words(console, whole, out, changed, seconds, work)
    return 1 if changed else 0


def _part(
    key: str, grading: ClassGrading, isolated: list[str], changed: list[str], seconds: float, work: float
) -> parts.Part:
    notes = {student.name: tuple(student.notes) for student in grading.students}
    outcomes = grading.outcomes, grading.lines_to_read, grading.functions, notes
    return parts.Part(key, *outcomes, tuple(isolated), tuple(changed), seconds, work)


def _all_parts(share: parts.Share, whole: ClassGrading, out: Path, console: Console) -> list[parts.Part] | None:
    """Return the results of all parts; if some are missing, name them and return None."""
    results = {n.n: parts.read(n.path(out), parts.key(whole, n.students(whole.students))) for n in share.all}
    missing = [n for n, part in results.items() if part is None]
    values = {"n": share.n, "of": share.of, "there": share.of - len(missing)}
    values |= {"students": len(share.students(whole.students)), "file": shown(str(share.path(out)))}
    console.print(say("class-part", whole.lang, **values))
    if missing:
        names = ", ".join(map(str, missing[:20])) + (" …" if len(missing) > 20 else "")
        console.print(say("class-part-missing", whole.lang, missing=names, first=missing[0], of=share.of))
        return None
    return [part for part in results.values() if part]


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of all its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _lessons(wanted: str | None, root: Path, students: list[Student], folder: Path) -> list[str]:
    """Return the lessons to check: those that were asked for, or else those for which a file was handed in."""
    if wanted is None:
        submitted = sorted({lesson for student in students for lesson in (*student.lessons, *student.refused)})
        if not submitted:
            raise BadInput("class-nothing", folder=shown(str(folder)))
        return submitted
    lessons = []
    for name in filter(None, map(str.strip, wanted.split(","))):
        if not (named := chapters.named(root / "lessons", name)):
            raise BadInput("class-no-lesson", lesson=shown(name))
        lessons += named
    if not lessons:
        raise BadInput("class-no-lesson", lesson=shown(wanted))
    return lessons


def _cores() -> int:
    """Return the number of cores that this process may use; if the system does not say, the machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _seed(value: str | None) -> int | None:
    if value is not None and not value.isdecimal():
        raise BadInput("bad-seed", value=value)
    return None if value is None else int(value)


def _prepare_out(out: Path, folder: Path) -> None:
    """Make the report's folder. Raises BadInput if it cannot be made or lies among the submissions."""
    if out.resolve().is_relative_to(folder.resolve()):
        raise BadInput("class-out-inside", out=shown(str(out)), folder=shown(str(folder)))
    try:
        out.mkdir(mode=0o700, parents=True, exist_ok=True)  # one that exists may be shared: the files in it are private
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise BadInput("class-out-unwritable", out=shown(str(out)), error=error.strerror) from None


def _choose(wanted: str, files: SandboxFiles, lang: str) -> tuple[str, bool]:
    """Return the kind of isolation asked for, or the best sandbox that works here, and whether the kernel refuses the
    calls that `system_calls` lists. Isolation is left out only if that was asked for.

    Raises BadInput if no sandbox works here, or if the one asked for does not.
    """
    lessons = files.root.glob("lessons/ch[0-9]*/*.*")
    secret = {*map(str, [*files.hidden, files.root / "solutions", files.root / "tests", *lessons])}
    kept = {str(files.cache), str(files.pycache), str(ENGINE / "grader")}
    why = []
    for kind in isolation.KINDS[:-1] if wanted == "auto" else [wanted]:
        if kind not in isolation.available():
            if wanted != "auto":
                raise BadInput("class-isolation-missing", kind=kind)
            why.append(say("class-room-missing", lang, kind=kind))
            continue
        try:
            tried = sandbox_pool.attempt(kind, files, [*secret, *kept])
        except sandbox_pool.SandboxLost:
            why.append(say("class-room-fails", lang, kind=kind))
            continue
        closed = not secret & {*tried.readable} and not kept & {*tried.writable}
        if tried.started == 2 and (closed or kind == "none"):
            return kind, tried.refused
        why.append(say("class-room-open" if tried.started == 2 else "class-room-fails", lang, kind=kind))
    if wanted == "auto":
        raise BadInput("class-no-room", tried=say("list-semicolon", lang).join(why))
    raise BadInput("class-isolation-fails", kind=wanted)


def _about(kind: str, refused: bool, grading: ClassGrading) -> list[str]:
    """Return message keys that tell the report how the answers were run, beginning with what was isolated."""
    self_reported = ["class-told"] if grading.self_reported else []
    judged = ["class-outside", *self_reported, "class-code"]
    calls = "class-calls-refused" if refused else "class-calls-open"
    if kind == "none":
        return ["class-isolation-none", "class-limits", calls, *judged]
    count = "class-count" if isolation.counts_processes(kind) else "class-no-count"
    with shares.made() as share:
        even = "class-shares" if share else "class-no-shares"
    return [f"class-isolation-{kind}", "class-sandbox", "class-limits", count, even, calls, *judged]


def _last_words(
    console: Console, grading: ClassGrading, out: Path, changed: list[str], seconds: float, work: float
) -> None:
    lang = grading.lang
    counts = [tally.solved(grading, student) for student in grading.outcomes]
    values = {"students": len(counts), "exercises": len(grading.exercises), "solved": sum(counts)}
    values |= {"answers": len(counts) * len(grading.exercises), "seconds": f"{seconds:.0f}", "work": f"{work:.0f}"}
    console.print(say("class-summary", lang, **values))
    if rows := tally.stuck(grading):
        console.print(say("class-summary-stuck", lang, exercise=rows[0].exercise, solved=rows[0].solved))
    console.print(say("class-written", lang, page=shown(str(out / PAGE)), table=TABLE))
    _say_changed(console, lang, changed)


def _say_changed(console: Console, lang: str, changed: list[str]) -> None:
    if changed:
        console.print(say("class-changed", lang), style="bold red")
        for path in changed[:20]:
            console.print(f"  {path}")


if __name__ == "__main__":
    sys.exit(main())
