"""A JAX that has renamed something private: programs run as they would alone, and one sentence says what is gone."""

import importlib
import pkgutil
import re
from pathlib import Path

import jax
import pytest

import minipod
from minipod import guard, jax_private
from minipod.cluster import coordinator_store, heartbeat
from minipod.doctor.look import detect
from minipod.doctor.report import private_parts
from minipod.jax_private import PARTS, Part
from minipod.processes import gloo
from minipod.processes.imports import once_imported


def take_away(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, last = part.name.rpartition(".")
    owner = pkgutil.resolve_name(owner)
    for each in (owner, *getattr(owner, "__mro__", type(owner).__mro__)):
        if last in vars(each):
            monkeypatch.delattr(each, last)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name.removeprefix("jax._src."))
def test_each_part_may_be_gone(part: Part, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    jax.devices()  # JAX itself needs some of the parts to start
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)  # as in a cluster of two
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(jax_private, "_reported", set())
    library = jax_private.gloo_library()
    monkeypatch.setattr(library, "make_gloo_tcp_collectives", library.make_gloo_tcp_collectives)  # put back at the end
    assert jax_private.missing() == [] and private_parts([]) is None
    take_away(part, monkeypatch)
    assert jax_private.missing() == [part]

    assert heartbeat._place()[0] == 0
    assert guard.watched(abs)(-1) == 1
    for detector in ("OmpiCluster", "SlurmCluster"):
        assert (jax_private.launcher_questions(detector) is None) == (detector in part.name)
    assert (detect() or {}).get("launcher") == ("unknown" if "ClusterEnv" in part.name else None)
    gloo.listen_on("127.0.0.1")

    printed = capsys.readouterr().err
    name = part.name.replace(":", ".")
    assert printed == f"minipod: JAX {jax.__version__} has no {name}, so {part.consequence}\n"
    finding = private_parts([(name, part.consequence)])
    assert finding and finding.state == "note" and name in finding.value and part.consequence in finding.advice


def test_a_store_without_its_calls_is_one_sentence_and_using_it_an_error(monkeypatch, capsys):
    monkeypatch.setattr(jax.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(jax_private, "coordinator_client", object)
    monkeypatch.setattr(jax_private, "_reported", set())
    with pytest.raises(RuntimeError, match=f"the coordinator's store of JAX {jax.__version__}"):
        coordinator_store.put("key", "text")
    assert "has no jax._src.distributed.global_state.client.key_value_set, so " in capsys.readouterr().err


def test_gloo_may_have_no_hostname(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    library = jax_private.gloo_library()
    monkeypatch.setattr(library, "make_gloo_tcp_collectives", lambda distributed_client: distributed_client)
    gloo.listen_on("127.0.0.1")
    assert library.make_gloo_tcp_collectives(distributed_client=3) == 3
    assert f"JAX {jax.__version__} has no hostname in make_gloo_tcp_collectives" in capsys.readouterr().err


def test_what_fails_after_an_import_does_not_make_the_import_fail(tmp_path: Path, monkeypatch, capsys):
    (tmp_path / "module_of_test.py").write_text("here = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    once_imported("module_of_test", lambda: 1 / 0)
    assert importlib.import_module("module_of_test").here
    assert capsys.readouterr().err == (
        "minipod: module_of_test could not be prepared (ZeroDivisionError: division by zero)\n"
    )


def test_nothing_private_is_named_elsewhere():
    private = re.compile(r"jax\._src|(from|import) jaxlib\b")
    files = [file for file in Path(minipod.__file__).parent.rglob("*.py") if file.name != "jax_private.py"]
    lines = [f"{file}: {line}" for file in files for line in file.read_text("utf-8").splitlines()]
    assert [line for line in lines if private.search(line)] == []
