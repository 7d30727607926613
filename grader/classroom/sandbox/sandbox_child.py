"""Run inside a sandbox: observe one student's answers, each in forked children, and report the observations.

python -m grader.classroom.sandbox.sandbox_child --cache FOLDER [--processes 512] [--parent PID]

Requests and replies (sandbox_messages.py) are lines of JSON on stdin and stdout; the first reply is Ready.
"""

import argparse
import base64
import linecache
import os
import resource
import shutil
import tempfile
from pathlib import Path
from typing import Any

from grader.classroom.sandbox import system_calls
from grader.classroom.sandbox.sandbox_messages import (
    Ask,
    AskReply,
    Measure,
    Reach,
    Ready,
    Reply,
    Request,
    Results,
    See,
    Try,
)
from grader.exercise.spec import Spec
from grader.run.warm_up import warm_up
from grader.see import observe
from grader.see import serialized_arguments as arguments
from grader.see.asking import Desk
from grader.see.measured import measured
from grader.see.observation import ProcessResult, received
from grader.see.observe import Target
from grader.see.wire import Malformed, decode, encode
from minipod import forked, processes
from minipod.processes import json_lines

TRIES = 2  # at one answer
LONGEST = 4 << 20  # bytes of one reply: what exercises return has kilobytes
_FILE_BYTES = 256 << 20  # the largest file an answer may write
_OPEN_FILES = 256
START = 90.0  # seconds for a pair of processes to start, on a machine that is busy


def main() -> None:
    """Answer requests until stdin ends."""
    parser = argparse.ArgumentParser(prog="python -m grader.classroom.sandbox.sandbox_child", description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="cache of compiled operations, which is only read")
    parser.add_argument("--processes", type=int, help="limit on the processes and threads of this user")
    parser.add_argument("--parent", type=int, help="id of a process; end when it ends")
    options = parser.parse_args()
    if options.parent:
        processes.die_with_parent(options.parent)
    requests, replies = json_lines.Reader(json_lines.taken(0)), json_lines.taken(1)
    warm_up(options.cache)
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)  # nothing that a submission compiled is kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if options.processes:
        resource.setrlimit(resource.RLIMIT_NPROC, (options.processes, options.processes))

    def reply(message: Reply) -> None:
        line = json_lines.encode(encode(message))
        if len(line) > LONGEST and isinstance(message, Results):
            large = ProcessResult("large", text=f"{LONGEST >> 20} MB")
            line = json_lines.encode(encode(Results((large,) * len(message.results))))
        json_lines.send(replies, line)

    refused = system_calls.refuse()
    compiled: Path | None = None
    reply(Ready())
    desk = Desk(tempfile.gettempdir())

    def pass_on() -> None:
        for line, n, x in desk.questions():
            reply(Ask(n, x))
            answer = decode(Request, requests.read())
            desk.reply(line, answer.text if isinstance(answer, AskReply) else "")

    forked.on_turn.append(pass_on)
    for line in requests:
        match decode(Request, line):
            case See() as request:
                reply(_see(request))
            case Measure() as request:
                compiled = compiled or _copied(options.cache)
                reply(_measure(request, compiled))
            case Try(paths):
                reply(_try(paths, refused))


def _see(request: See) -> Results:
    task = request.task

    def cases(_: Any) -> list[tuple[Any, ...]]:
        import jax

        return arguments.loads(base64.b64decode(task.arguments[jax.process_index()]))

    spec = Spec(task.lesson, task.name, Path("/"), cases, how=task.how)
    spec.on_device, spec.work = task.on_device, task.work
    spec.processes, spec.devices = task.processes, task.devices
    target = Target(Path(request.path), [spec.name], request.source)

    def look() -> object:
        # the file is not in the sandbox: tracebacks take its lines from here
        lines = request.source.splitlines(keepends=True)
        linecache.cache[request.path] = (len(request.source), None, lines, request.path)
        return observe.encoded(spec, 0, target, begun)

    results, begun = list[forked.Result](), observe.Begun(spec.processes)
    for _ in range(TRIES):
        results = forked.run(look, spec.processes, spec.devices, request.limit, request.memory)
        if all(result.ready for result in results):  # else JAX itself did not start in time: not the answer's doing
            break
    return Results(tuple(received(result, begun.count(n)) for n, result in enumerate(results)))


def _measure(request: Measure, compiled: Path) -> Results:
    """Measure the programs of a submission, which is read here only as data.

    compiled  a folder of this sandbox, which runs no submission: equal programs are compiled once
    """

    def look() -> object:
        import jax

        jax.config.update("jax_compilation_cache_dir", str(compiled))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        reply = decode(Results, json_lines.parse(request.reply))
        if len(reply.results) != 1 or reply.results[0].status != "ok":
            return encode(reply)
        cases: Any = arguments.loads(base64.b64decode(request.cases))
        return encode(Results((measured(reply.results[0], request.name, cases),)))

    (result,) = forked.run(look, 1, request.devices, request.limit, request.memory)
    if result.status == "ok":
        try:
            return decode(Results, result.value)
        except Malformed:
            pass
    status = "malformed" if result.status == "raised" and "Malformed" in result.text else result.status
    return Results((ProcessResult(status, text=result.text, ready=result.ready, seconds=result.seconds),))


def _copied(cache: Path) -> Path:
    """Return a writable folder with the compiled operations, which is removed with the sandbox's other files."""
    folder = Path(tempfile.mkdtemp(prefix="compiled-"))
    for entry in cache.iterdir():
        shutil.copyfile(entry, folder / entry.name)
    return folder


def _try(paths: tuple[str, ...], refused: bool) -> Reach:
    """Return whether a pair of processes can start here, and which paths they could reach."""

    def count() -> int:
        import jax

        return jax.process_count()

    pair = forked.run(count, processes=2, devices=1, seconds=START)
    readable = [p for p in paths if (os.path.isdir(p) and os.listdir(p)) or (os.path.isfile(p) and os.path.getsize(p))]
    started = sum(result.value == 2 for result in pair)
    return Reach(started, tuple(readable), tuple(p for p in paths if os.access(p, os.W_OK)), refused)


if __name__ == "__main__":
    main()
