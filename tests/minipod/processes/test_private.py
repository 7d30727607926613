"""A JAX that has renamed something private: programs run as they would alone, and one sentence says what is gone."""

import pkgutil
import re
from pathlib import Path

import jax
import pytest

import minipod
from minipod import cluster, guard
from minipod.cluster import arguments, coordinator_store, heartbeat, member
from minipod.processes import gloo, private

START = [  # what is asked for as a program starts; in one process what does not hide the others
    ["jax._src.distributed", "jax._src.xla_bridge._jax"],
    ["jax._src.distributed.State", "jax._src.xla_bridge"],
    ["jax._src.distributed.State.initialize"],
    ["jax._src.distributed.State.shutdown"],
]

# Python imports this as it starts. RENAMED is no longer there once its module has been imported, and a module once JAX
# has been; JAX's own modules, which have one another by then, go on.
RENAMING = """
import importlib.machinery, os, sys, types

RENAMED = [name.rpartition(".") for name in os.environ["RENAMED"].split()]

def after(place):
    return "jax" if place == "jax._src" else place.removesuffix(".State")

class Renaming:
    def find_spec(self, name, path=None, target=None):
        gone = [(place, last) for place, _, last in RENAMED if after(place) == name]
        spec = importlib.machinery.PathFinder.find_spec(name, path) if gone else None
        if spec:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), [rename(module, *each) for each in gone])
        return spec

def rename(module, place, last):
    if place == "jax._src":
        delattr(sys.modules[place], last)
        sys.modules[f"{place}.{last}"] = None  # an import of it raises ModuleNotFoundError
    elif last == "_jax":
        module._jax = types.SimpleNamespace(**vars(module._jax))
        del module._jax.make_gloo_tcp_collectives
    elif place.endswith("State"):
        setattr(module.global_state, last, getattr(module.global_state, last))  # which JAX itself still calls
        delattr(module.State, last)
    else:
        delattr(module, last)

sys.meta_path.insert(0, Renaming())
"""


def test_each_name_that_a_start_asks_for_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "sitecustomize.py").write_text(RENAMING)
    (tmp_path / "two_lines.py").write_text("import jax\nprint(jax.device_count(), 'devices')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(minipod.__file__).parents[1]}")
    env = [{"RENAMED": " ".join(names)} for names in START]
    done = cluster.run(tmp_path / "two_lines.py", processes=len(START), devices=2, env=env, check=False)
    for names, printed in zip(START, done.outputs, strict=True):
        *warnings, last = printed.splitlines()
        said = [f"minipod: JAX {jax.__version__} has no {name}" for name in names]
        assert last == "2 devices" and len(warnings) == len(said), printed
        assert all(any(line.startswith(begin) for line in warnings) for begin in said), printed
    assert done.ok


@pytest.fixture
def nothing_private(monkeypatch: pytest.MonkeyPatch):
    def gone(name: str) -> None:
        raise AttributeError(name)

    monkeypatch.setattr(pkgutil, "resolve_name", gone)
    monkeypatch.setattr(private, "_said", set())


def test_what_is_asked_for_later_may_be_gone(nothing_private, monkeypatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert heartbeat._place() == (0, 2)
    assert member._number() is None
    for _ in range(2):
        assert guard.watched(abs)(-1) == 1
    arguments._look_ahead("slurm")
    with pytest.raises(RuntimeError, match=f"the coordinator's store in JAX {jax.__version__}"):
        coordinator_store.put("key", "text")
    said = re.findall(r"^minipod: JAX [\d.]+ has no (\S+), so ", capsys.readouterr().err, flags=re.M)
    state = "jax._src.distributed.global_state."
    expected = ["process_id", "process_id", "client.key_value_set"]
    assert said == [state + name for name in expected] + ["jax._src.clusters.SlurmCluster.get_process_id"]


def test_gloo_may_have_no_hostname(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from jax._src import xla_bridge

    monkeypatch.setattr(xla_bridge._jax, "make_gloo_tcp_collectives", lambda distributed_client: distributed_client)
    gloo.listen_on("127.0.0.1")
    assert xla_bridge._jax.make_gloo_tcp_collectives(distributed_client=3) == 3
    assert f"JAX {jax.__version__} has no hostname in make_gloo_tcp_collectives" in capsys.readouterr().err


def test_nothing_private_is_imported_by_itself():
    private = re.compile(r"\s*(from|import) (jax\._src|jaxlib)\b")
    files = Path(minipod.__file__).parent.rglob("*.py")
    assert [f"{p}: {line}" for p in files for line in p.read_text("utf-8").splitlines() if private.match(line)] == []
