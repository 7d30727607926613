"""The program inside a sandbox: sees one student's answers, each in children forked from it, and says what it saw.

python -m grader.classroom.sandbox_child --root . --cache .cache/jax [--processes 512] [--parent PID]

Requests and replies, see sandbox_messages.py, are lines of JSON on stdin and stdout; the first line sent is Ready.
"""

import argparse
import linecache
import os
import resource
from pathlib import Path

from grader.classroom.sandbox_messages import Reach, Ready, Reply, Request, Results, See, Try
from grader.exercise.exercises import Catalogue
from grader.run.warm_up import warm_up
from grader.see import observe
from grader.see.observation import received
from grader.see.observe import Target
from grader.see.wire import decode, encode
from minipod import forked, processes
from minipod.processes import json_lines

TRIES = 2  # at one answer
_FILE_BYTES = 256 << 20  # the largest file an answer may write


def main() -> None:
    """Until stdin ends."""
    parser = argparse.ArgumentParser(prog="python -m grader.classroom.sandbox_child", description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the folder that holds lessons/")
    parser.add_argument("--cache", type=Path, required=True, help="of compiled programs; only read")
    parser.add_argument("--processes", type=int, help="the most processes and threads of this user")
    parser.add_argument("--parent", type=int, help="end with this process")
    options = parser.parse_args()
    if options.parent:
        processes.die_with_parent(options.parent)
    requests, replies = json_lines.Reader(json_lines.taken(0)), json_lines.taken(1)
    warm_up(options.cache)
    import jax

    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1e9)  # nothing that a submission compiled is kept
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    if options.processes:
        resource.setrlimit(resource.RLIMIT_NPROC, (options.processes, options.processes))
    catalogue = Catalogue(options.root / "lessons")

    def reply(message: Reply) -> None:
        json_lines.write(replies, encode(message))

    reply(Ready())
    for line in requests:
        match decode(Request, line):
            case See() as request:
                reply(_see(catalogue, request))
            case Try(paths):
                reply(_try(paths))


def _see(catalogue: Catalogue, request: See) -> Results:
    spec = catalogue.spec(request.exercise)
    target = Target(Path(request.path), [spec.name], request.source)

    def look() -> object:
        # the file is not in the sandbox: tracebacks take its lines from here
        lines = request.source.splitlines(keepends=True)
        linecache.cache[request.path] = (len(request.source), None, lines, request.path)
        return observe.encoded(spec, request.seed, target)

    results: list[forked.Result] = []
    for _ in range(TRIES):
        results = forked.run(look, spec.processes, spec.devices, request.limit, request.memory)
        if all(result.ready for result in results):  # else JAX itself did not start in time: not the answer's doing
            break
    return Results(tuple(map(received, results)))


def _try(paths: tuple[str, ...]) -> Reach:
    """Whether a pair of processes can start here, and what could be reached."""

    def count() -> int:
        import jax

        return jax.process_count()

    pair = forked.run(count, processes=2, devices=1)
    seen = [p for p in paths if (os.path.isdir(p) and os.listdir(p)) or (os.path.isfile(p) and os.path.getsize(p))]
    started = sum(result.value == 2 for result in pair)
    return Reach(started, tuple(seen), tuple(p for p in paths if os.access(p, os.W_OK)))


if __name__ == "__main__":
    main()
