"""Run a program as `__main__` of this process, as `python PROGRAM` would."""

import builtins
import os
import runpy
import sys
import types
from pathlib import Path

_OURS = (__file__, runpy.__file__, "<frozen runpy>")


def as_main(command: list[str]) -> None:
    """Run `[-m] PROGRAM ARGUMENTS…`. The program's exceptions are passed on; `in_the_program` shortens tracebacks."""
    if command[0] == "-m":
        sys.argv = command[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = command
    path = os.path.abspath(command[0])  # as Python has it: the program may change the folder
    code = Path(path).read_bytes()
    if not sys.flags.safe_path:
        del sys.path[0]  # the folder of this command, or the current one: a file of it could hide a standard module
    sys.path.insert(0, str(Path(path).resolve().parent))
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = module  # so that pickle and multiprocessing find the program's own names
    exec(compile(code, command[0], "exec"), module.__dict__)  # tracebacks name it as the command did


def in_the_program(trace: types.TracebackType | None, *ours: str) -> types.TracebackType | None:
    """Return a traceback without the frames before the program's own: of this file, runpy and the files `ours`."""
    while trace and trace.tb_frame.f_code.co_filename in (*_OURS, *ours):
        trace = trace.tb_next
    return trace
