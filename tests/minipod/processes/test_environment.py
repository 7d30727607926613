"""What a reader has set for other programs neither stops nor bends what we start."""

from pathlib import Path

import pytest

from minipod import cluster
from minipod.processes import environment

NOWHERE = "http://127.0.0.1:9"  # nobody listens there


def test_local_addresses_are_added_to_what_needs_no_proxy_and_without_a_proxy_nothing_changes():
    for before, after in (
        ({"http_proxy": NOWHERE}, "127.0.0.1,localhost,::1,10.0.0.1"),
        ({"ALL_PROXY": NOWHERE}, "127.0.0.1,localhost,::1,10.0.0.1"),
        ({"GRPC_PROXY": NOWHERE, "NO_PROXY": "a.com, b.com"}, "a.com,b.com,127.0.0.1,localhost,::1,10.0.0.1"),
        ({"https_proxy": NOWHERE, "no_proxy": "localhost,c.com"}, "localhost,c.com,127.0.0.1,::1,10.0.0.1"),
    ):
        env = dict(before)
        environment.without_proxy(env, "10.0.0.1")
        assert env == before | {"no_proxy": after, "NO_PROXY": after}
    env = {"http_proxy": NOWHERE, "no_grpc_proxy": "d.com"}  # which gRPC reads instead
    environment.without_proxy(env)
    assert env["no_grpc_proxy"] == "d.com,127.0.0.1,localhost,::1"
    for env in ({}, {"no_proxy": "a.com"}, {"http_proxy": ""}):
        before = dict(env)
        environment.without_proxy(env)
        assert env == before


def test_cleansed_of_settings_and_not_of_where_a_process_is():
    kept = {"HOME": "/h", "JAX_COORDINATOR_ADDRESS": "h:1", "SLURM_JOB_ID": "1", "PYTHONPATH": "/p"}
    bending = {"JAX_DISABLE_JIT": "1", "XLA_FLAGS": "--x", "LIBTPU_INIT_ARGS": "", "PYTHONWARNINGS": "error"}
    env = kept | bending
    assert environment.cleanse(env) == bending and env == kept
    assert environment.cleanse(env) == {}


def test_a_setting_that_xla_refuses_is_told_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_thing=1")
    Path("p.py").write_text("import os\nif 'XLA_FLAGS' in os.environ: import jax; jax.devices()\nprint(None)")
    assert cluster.run("p.py", processes=1, env={"XLA_FLAGS": None}).outputs == ["None\n"]  # a variable taken out
    said = cluster.run("p.py", processes=1, check=False).first_failure
    assert said and said.endswith(": Unknown flag in XLA_FLAGS: --xla_no_such_thing=1, which this environment sets")
