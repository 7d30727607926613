"""Provide the command line, `minipod run -n 2 -d 4 program.py`, `minipod doctor` …, also as `python -m minipod`."""

import argparse
import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from minipod import distribution

LIMITS = {
    errno.EAGAIN: ": close other programs, or raise `ulimit -u`",
    errno.ENOMEM: ": close other programs, or start fewer processes",
    errno.ENOSPC: ": free some disk space",
}


class _Parser(argparse.ArgumentParser):
    """An argument parser that reports a mistake in one sentence and exits with 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code, 2 for a mistake. A mistake in the options raises SystemExit."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        what = "unknown option" if unknown[0].startswith("-") else "unexpected argument"
        parser.error(f"{what} {unknown[0]}")
    command: Callable[[argparse.Namespace], int] = options.command
    if sys.platform == "win32":
        _say("minipod needs Linux or macOS: on Windows, use WSL2 (`wsl --install`)")
        return 2
    try:
        return command(options)
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:  # `minipod run … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        _say(_in_words(error))
        return 2
    except (ValueError, distribution.Missing) as error:
        _say(str(error))
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="minipod", description="Run and examine JAX programs on simulated devices.")
    parser.add_argument("--version", action="version", version=f"minipod {distribution.version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    run = commands.add_parser("run", help="run a program in several processes on this machine, as one cluster")
    run.add_argument(
        "-n", "--processes", type=int, default=2, metavar="N", help="number of processes, 1 to 16 (default: 2)"
    )
    run.add_argument("--port", type=int, help="port of the coordinator on 127.0.0.1 (default: a free one)")
    _add_program(run)
    run.set_defaults(command=_run)

    start = commands.add_parser(
        "start", help="run a program as one process of an srun or mpirun job; exit at once if it fails"
    )
    start.add_argument("-m", "--module", action="store_true", help="PROGRAM is the name of a module")
    _add_command(start)
    start.set_defaults(command=_start)

    hosts = commands.add_parser("hosts", help="simulate a few hosts on this machine")
    actions = hosts.add_subparsers(required=True, metavar="run", parser_class=_Parser)
    inside = actions.add_parser("run", help="run a program with one process on each host")
    inside.add_argument("-n", "--hosts", type=int, default=2, metavar="N", help="number of hosts, 2 to 4 (default: 2)")
    inside.add_argument("--rate", help="bandwidth of each host's link, such as 100mbit (default: unlimited)")
    inside.add_argument("--delay", help="delay between hosts, such as 5ms (default: none)")
    _add_program(inside)
    inside.set_defaults(command=_inside)

    watch = commands.add_parser("watch", help="report which processes of a running job hang or are slow")
    watch.add_argument("folder", metavar="FOLDER", help="the folder that the program passes to Heartbeat")
    watch.add_argument(
        "--limit", type=float, default=60.0, metavar="S", help="seconds that a step or a save may take (default: 60)"
    )
    watch.add_argument(
        "--once", action="store_true", help="print the current state and exit; the exit code is 1 if something is wrong"
    )
    watch.add_argument("--prometheus", action="store_true", help="like --once, but in the Prometheus text format")
    watch.set_defaults(command=_watch)

    traffic = commands.add_parser("traffic", help="list the collectives in the text of a compiled program")
    traffic.add_argument("file", metavar="FILE", help="output of `compiled.as_text()`, or - for standard input")
    traffic.set_defaults(command=_traffic)

    plan = commands.add_parser(
        "plan",
        help="compile a program for a TPU slice or GPU host; show its memory, traffic and time; "
        "the exit code is 1 if it does not fit",
    )
    plan.add_argument(
        "program",
        metavar="FILE.py:NAME",
        help="a function NAME(mesh), or NAME() without --mesh, that returns (function, arguments)",
    )
    plan.add_argument(
        "--on", required=True, metavar="SLICE", help="slice or GPU host, such as v5e:4x4, v5p-128, 2xv5e:4x4 or h100:8"
    )
    plan.add_argument(
        "--mesh", metavar="AXES", help="mesh axes, such as data=4,model=4 (default: NAME makes its own mesh)"
    )
    plan.add_argument("--explicit", action="store_true", help="make the axes of --mesh Explicit (default: Auto)")
    plan.add_argument(
        "--xla", action="append", default=[], metavar="OPTION=VALUE", help="set an option of the XLA compiler"
    )
    plan.add_argument(
        "--limit", type=float, default=900.0, metavar="S", help="give up after S seconds (default: %(default)g)"
    )
    plan.add_argument("--passes", type=int, metavar="N", help="assume N iterations for loops of unknown length")
    plan.add_argument("--save", metavar="FILE", help="save the compiled program, to load it on the slice")
    plan.add_argument("--dump", metavar="FILE", help="write the text (HLO) of the compiled program")
    plan.add_argument("--again", action="store_true", help="compile again even if nothing has changed")
    plan.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    plan.set_defaults(command=_plan)

    choose = commands.add_parser("choose", help="compare layouts for a model of a given size, using formulas")
    choose.add_argument("--params", type=float, required=True, metavar="P", help="number of parameters, such as 8e9")
    choose.add_argument("--batch", type=int, required=True, metavar="B", help="sequences in the whole batch")
    choose.add_argument("--seq", type=int, required=True, metavar="S", help="tokens per sequence")
    choose.add_argument(
        "--on", required=True, metavar="SLICE", help="slice or GPU host, such as v5e:8x8, v5p-128 or h100:8"
    )
    typical = "default: typical for this number of parameters"
    choose.add_argument("--layers", type=int, metavar="L", help=f"number of layers ({typical})")
    choose.add_argument("--width", type=int, metavar="D", help=f"width of the model ({typical})")
    choose.set_defaults(command=_choose)

    profile = commands.add_parser("profile", help="show where a program spent its time")
    profile.add_argument(
        "paths", nargs="+", metavar="FILE", help="for each process, an .xplane.pb file or the folder "
        "passed to jax.profiler.trace; or PROGRAM.py and its arguments, to run it now",
    )  # fmt: skip
    profile.add_argument("--step", type=int, metavar="N", help="show only step N (jax.profiler.StepTraceAnnotation)")
    profile.add_argument(
        "--text", action="append", default=[], metavar="FILE",
        help="file with `compiled.as_text()` of the program, to show which simulated devices share a collective",
    )  # fmt: skip
    profile.add_argument("--top", type=int, default=0, metavar="N", help="also list the N longest operations")
    profile.add_argument("--draw", metavar="FILE.svg", help="also write a picture")
    profile.add_argument(
        "-d", "--devices", type=int, default=8, metavar="D",
        help="with a program: number of simulated devices (default: %(default)s)",
    )  # fmt: skip
    profile.add_argument(
        "--limit", type=float, default=120.0, metavar="S",
        help="with a program: stop it after S seconds (default: %(default)g)",
    )  # fmt: skip
    profile.add_argument(
        "--json", action="store_true", help="print one JSON object, times in seconds, instead of tables"
    )
    profile.set_defaults(command=_profile)

    draw = commands.add_parser("draw", help="draw a picture of simulated devices")
    draw.add_argument("-d", "--devices", type=int, default=8, metavar="D", help="number of devices (default: 8)")
    draw.add_argument(
        "-o", "--output", default="devices.svg", metavar="FILE", help="file to write (default: devices.svg)"
    )
    draw.set_defaults(command=_draw)

    doctor = commands.add_parser("doctor", help="check this machine or the processes of a cluster")
    doctor.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    doctor.add_argument(
        "--cluster",
        action="store_true",
        help="compare the processes of a cluster; start this with a launcher, as in `srun minipod doctor --cluster`",
    )
    doctor.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="S",
        help="with --cluster: seconds to wait for all processes (default: 60)",
    )
    doctor.set_defaults(command=_doctor)
    return parser


def _add_program(run: argparse.ArgumentParser) -> None:
    run.add_argument("-d", "--devices", type=int, default=4, metavar="D", help="CPU devices per process (default: 4)")
    run.add_argument(
        "--limit", type=float, default=60.0, metavar="S", help="stop all processes after S seconds (default: 60)"
    )
    run.add_argument(
        "--collective-timeout",
        type=int,
        metavar="S",
        help="raise an error in a collective that has waited S seconds for other processes",
    )
    run.add_argument("--survivors", action="store_true", help="keep the other processes running when one has failed")
    run.add_argument("-m", "--module", action="store_true", help="PROGRAM is the name of a module")
    _add_command(
        run,
        "; {process} becomes the number of the process, {processes} the number of processes, {coordinator} a free "
        "address",
    )


def _add_command(run: argparse.ArgumentParser, more: str = "") -> None:
    run.add_argument("program", metavar="PROGRAM", help="a Python file")
    rest = run.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="arguments of the program" + more
    )
    rest.required = False


def _run(options: argparse.Namespace) -> int:
    from minipod.cluster import run

    return _shown(run, options, processes=options.processes, port=options.port)


def _start(options: argparse.Namespace) -> int:
    from minipod.cluster.launch import find, find_module
    from minipod.cluster.member import start

    program = ["-m", find_module(options.program)] if options.module else [str(find(options.program))]
    start([*program, *options.arguments])
    return 0


def _inside(options: argparse.Namespace) -> int:
    from minipod import hosts

    with hosts.lab(options.hosts, options.rate, options.delay) as lab:
        return _shown(lab.run, options)


def _shown(run: Callable[..., Any], options: argparse.Namespace, **more: Any) -> int:
    """Run the program, show each line as it is printed, and return the exit code."""

    def show(process: int, line: str) -> None:
        print(f"[{process}] {line}", flush=True)

    done = run(
        options.program,
        *options.arguments,
        devices=options.devices,
        limit=options.limit,
        collective_timeout=options.collective_timeout,
        survivors=options.survivors,
        module=options.module,
        check=False,
        show=show,
        **more,
    )
    if done.first_failure:
        _say(done.first_failure)
    elif done.apart:
        _say("each process computed on its own: none called jax.distributed.initialize")
    return done.exit_code


def _watch(options: argparse.Namespace) -> int:
    from minipod.watch import once, watch

    if options.once or options.prometheus:
        return int(once(options.folder, options.limit, options.prometheus))
    return int(watch(options.folder, options.limit))


def _traffic(options: argparse.Namespace) -> int:
    from minipod.hlo.text import from_file
    from minipod.traffic import read, table, total

    collectives = read(from_file(options.file))
    print(table(collectives), flush=True)
    total(collectives)  # for a loop of unknown length, the table has a "?", and this raises the reason
    return 0


def _plan(options: argparse.Namespace) -> int:
    from minipod.pods.plan_command import Wanted, options_of, run

    def tell(line: dict[str, Any]) -> None:
        """Pass on what the program prints; on a terminal, also report each finished step."""
        if "printed" in line:
            sys.stderr.write(line["printed"])
        elif sys.stderr.isatty():
            _say(f"{line['step']} in {line['seconds']:.1f} s")

    given = (options.program, options.on, options.mesh, options.explicit, options_of(options.xla))
    plan = run(Wanted(*given, options.limit, options.save, options.dump, options.again, options.passes, tell))
    if options.json:
        import json

        print(json.dumps(plan.data()))
        if plan.recorded:
            _say(plan.notes[-1])
    else:
        print(plan)
    return 0 if plan.fits else 1


def _choose(options: argparse.Namespace) -> int:
    from minipod.choose import choices, model, summary, table

    wanted = model(options.params, options.batch, options.seq, options.layers, options.width)
    made = choices(wanted, options.on)
    print(table(made))
    print(summary(wanted, made[0], options.on))
    return 0


def _profile(options: argparse.Namespace) -> int:
    from minipod.profiles.command import profiled, report

    if options.draw and not Path(options.draw).resolve().parent.is_dir():
        raise FileNotFoundError(f"{options.draw}: there is no folder {Path(options.draw).parent}")
    program = options.paths[0].endswith(".py")
    paths, arguments = (options.paths[:1], options.paths[1:]) if program else (options.paths, [])
    recorded = profiled(paths, options.text, arguments, options.devices, options.limit)
    recorded = recorded if options.step is None else recorded.step(options.step)
    if options.json:
        import json

        print(json.dumps(recorded.data()))
    else:
        print(report(recorded, options.top))
    if options.draw:
        from minipod.pictures import profile

        profile(recorded).save(options.draw)
    return 0


def _draw(options: argparse.Namespace) -> int:
    from minipod.devices import simulate
    from minipod.pictures import devices

    if not Path(options.output).resolve().parent.is_dir():
        raise FileNotFoundError(f"{options.output}: there is no folder {Path(options.output).parent}")
    simulate(options.devices)
    devices().save(options.output)
    print(options.output)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    if options.cluster:
        from minipod.doctor.cluster import examine as examine_cluster

        return examine_cluster(options.limit, options.json)
    from minipod.doctor import as_data, describe, examine

    findings = examine()
    data = as_data(findings)
    if options.json:
        import json

        print(json.dumps(data, ensure_ascii=False))
    else:
        print(describe(findings, sys.stdout.encoding))
    return 0 if data["well"] else 1


def _in_words(error: OSError) -> str:
    """Describe the error in one sentence; if the machine sets a limit, say how to raise it."""
    if error.errno is None:
        return str(error)
    about = f"{error.filename}: " if error.filename else ""
    if error.errno == errno.EMFILE:
        from minipod.doctor.machine import more_open_files

        return f"{about}{error.strerror}: {more_open_files()}"
    return f"{about}{error.strerror}" + LIMITS.get(error.errno, "")


def _say(sentence: str) -> None:
    with contextlib.suppress(OSError):
        print(f"minipod: {sentence}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
