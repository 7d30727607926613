"""What happens in each process of a test: pytest's own protocol, and its reports as data."""

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minipod.testing import faults
from minipod.testing.wanted import Wanted

_kept: list[Any] = []


@dataclass
class Here:
    """This process, while it runs a test. `shared`: a folder that all processes of the test have."""

    process: int
    shared: Path


HERE = pytest.StashKey[Here]()
CHOSEN = pytest.StashKey[dict[str, tuple[pytest.Item, Wanted]]]()  # of a session: by node id what wants a cluster


def has_devices() -> bool:
    """Whether JAX has started its devices in this process."""
    if "jax" not in sys.modules:
        return False
    import jax

    config: Any = jax.config  # its type does not know its options
    before = config.jax_num_cpu_devices
    try:
        config.update("jax_num_cpu_devices", before + 1)  # refused once there are devices
    except RuntimeError:
        return True
    config.update("jax_num_cpu_devices", before)
    return False


def collected(session: pytest.Session, file: str) -> dict[str, tuple[pytest.Item, Wanted]]:
    """The tests of `file` that want a cluster, by node id, collected in this process, which tells nobody of it."""
    manager = session.config.pluginmanager
    for plugin in manager.get_plugins():
        # What would print, and what would tell the process that leads xdist's workers.
        if plugin is manager.getplugin("terminalreporter") or hasattr(plugin, "sendevent"):
            manager.unregister(plugin)
    _uncaptured(session.config)
    session.perform_collect([file], genitems=True)
    return session.stash[CHOSEN]


def run(item: pytest.Item, asked: Wanted, shared: Path) -> list[dict[str, Any]]:
    """Run the test in this process, from set-up to tear-down; its reports, as pytest makes data of them."""
    import jax
    from _pytest import runner  # `runtestprotocol`, which pytest-forked and pytest-rerunfailures call, too

    process = jax.process_index()
    item.config.stash[HERE] = Here(process, shared)
    faults.arm([f for f in asked.faults if f.process == process], shared / f"struck{process}")
    _uncaptured(item.config)
    _without_debugger(item.config)
    if temporary := getattr(item.config, "_tmp_path_factory", None):
        own = shared.parent / f"process{process}"
        own.mkdir()
        temporary._basetemp = own  # not public: two processes that number one folder are in each other's way
    reports = runner.runtestprotocol(item, log=False, nextitem=None)
    return [item.config.hook.pytest_report_to_serializable(config=item.config, report=r) for r in reports]


def _uncaptured(config: pytest.Config) -> None:
    """Let all that is written go to pytest's process, which keeps it, even of a process that has to be killed.

    What pytest captures into are files of the parent, closed here. `capsys` and `capfd` capture as ever.
    """
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    if capture is not None and capture._global_capturing is not None:
        _kept.append(capture._global_capturing)  # closing it would write its buffers a second time
        capture._global_capturing, capture._method = None, "no"
        capture.start_global_capturing()


def _without_debugger(config: pytest.Config) -> None:
    """There is no keyboard here: --pdb would wait for ever. And a crash's stack belongs to the parent's report."""
    with contextlib.suppress(ValueError, AssertionError):
        config.pluginmanager.unregister(name="pdbinvoke")
    os.environ.pop("PYTHONBREAKPOINT", None)
