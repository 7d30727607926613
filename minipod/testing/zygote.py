"""A process that waits, with all tests collected and no device started, and forks a cluster for each test that asks.

pytest's own process may start JAX meanwhile: a test without a marker does, and no child of it could have devices then.
"""

import contextlib
import os
import select
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import pytest

from minipod import forked, processes
from minipod.processes import json_lines
from minipod.testing import in_process
from minipod.testing.wanted import Wanted

STARTED = "started"
COUNT = "--xla_force_host_platform_device_count"


class Lost(RuntimeError):
    """The zygote has ended, or says what nobody understands."""


class Zygote:
    """Asked in pytest's process, it answers with what happened in each of a test's processes."""

    def __init__(self, items: Sequence[tuple[pytest.Item, Wanted]]):
        ours, theirs = os.pipe()
        asks, answers = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = processes.fork()
        if self._pid == 0:
            os.close(ours)
            os.close(answers)
            _serve(items, asks, theirs)
        os.close(theirs)
        os.close(asks)
        self._to, self._from = answers, json_lines.Reader(ours)
        self._ends = (ours, answers)

    def ask(self, number: int, seconds: float) -> list[forked.Result] | str:
        """What became of the processes of test `number`; STARTED where JAX had devices before the fork.

        Raises Lost, at the latest after `seconds`.
        """
        try:
            json_lines.write(self._to, number)
            said = self._from.read(seconds)
        except (OSError, EOFError, TimeoutError, json_lines.Garbled) as error:
            raise Lost(f"the process that starts the tests' processes no longer answers: {error}") from None
        return said if isinstance(said, str) else [forked.Result(**each) for each in said]

    def close(self) -> None:
        """End it, and with it whatever it has started."""
        for end in self._ends:
            with contextlib.suppress(OSError):
                os.close(end)
        with contextlib.suppress(ChildProcessError):
            processes.end_child(self._pid, patience=2.0)


def _serve(items: Sequence[tuple[pytest.Item, Wanted]], asks: int, answers: int) -> NoReturn:
    """All that the zygote does; it ends when pytest's process does, whatever it is at."""

    def look() -> None:
        if select.select([asks], [], [], 0)[0]:
            raise EOFError  # nothing is asked while an answer is awaited: the other end is closed

    try:
        _let_go(asks, answers)
        forked.on_turn.append(look)
        for number in json_lines.Reader(asks):
            item, asked = items[number]
            json_lines.write(answers, _run(item, asked))
    except BaseException:
        forked.stop_all()
    finally:
        os._exit(0)


def _let_go(*keep: int) -> None:
    """Close what pytest and its plug-ins have open: whoever reads the other end would wait for us, too."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    processes.close_inherited(*keep)


def _run(item: pytest.Item, asked: Wanted) -> list[dict[str, Any]] | str:
    import jax  # noqa: F401  once, here: each child has it then
    from jax._src import xla_bridge  # there is no public way to ask

    if xla_bridge.backends_are_initialized():
        return STARTED
    flags = os.environ.get("XLA_FLAGS", "").split()
    os.environ["XLA_FLAGS"] = " ".join(flag for flag in flags if not flag.startswith(COUNT))
    folder = _folder(item)
    shared = folder / "shared"
    shared.mkdir()
    try:
        job = forked.start(
            lambda: in_process.run(item, asked, shared),
            asked.processes,
            asked.devices,
            asked.seconds,
            asked.memory,
            asked.patience,
            collective=int(asked.seconds) + 1,
            grace=asked.grace,
        )
        results = [asdict(result) for result in forked.wait(job)]
        for process, result in enumerate(results):
            if (shared / f"struck{process}").exists() and result["status"] in ("died", "hung", "left"):
                result["status"] = "struck"
        return results
    finally:
        if not any(folder.glob("process*/*")) and not any(shared.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)


def _folder(item: pytest.Item) -> Path:
    """A fresh folder for one run of a test, below pytest's own for the run, or the system's where there is none."""
    temporary = getattr(item.config, "_tmp_path_factory", None)
    base = temporary.getbasetemp() if temporary else None
    return Path(tempfile.mkdtemp(prefix=f"{item.name[:20].replace(os.sep, '_')}-", dir=base))
