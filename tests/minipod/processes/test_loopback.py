"""A cluster on this machine listens on loopback only, whatever the machine's name resolves to."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import still_running

from minipod import cluster, hosts
from minipod.processes import free_port

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel who listens where, through /proc")

# A sum of two processes, then the addresses on which this process listens.
PROGRAM = """
import os, sys
import jax
import numpy as np
sys.path.insert(0, {tests!r})
from still_running import listening
jax.distributed.initialize(
    os.environ["MINIPOD_COORDINATOR"], 2, int(os.environ["MINIPOD_PROCESS"]), initialization_timeout=100
)
mesh = jax.make_mesh((jax.device_count(),), ("x",))
x = jax.make_array_from_callback((2,), jax.NamedSharding(mesh, jax.P("x")), lambda at: np.ones(1, np.float32))
print(jax.jit(lambda x: x.sum())(x), *sorted(listening(os.getpid())))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(PROGRAM.format(tests=str(Path(still_running.__file__).parent)))
    return tmp_path


def test_a_program_that_says_nothing_of_addresses_listens_on_loopback(here: Path):
    assert cluster.run("p.py", devices=1, limit=100).outputs == ["2.0 127.0.0.1\n"] * 2


def test_a_program_that_names_localhost_listens_on_loopback(here: Path):
    named = (here / "p.py").read_text().replace('os.environ["MINIPOD_COORDINATOR"]', f'"localhost:{free_port()}"')
    (here / "p.py").write_text(named)
    printed = [text.split() for text in cluster.run("p.py", devices=1, limit=100).outputs]
    assert [words[0] for words in printed] == ["2.0", "2.0"]
    assert {*printed[0][1:], *printed[1][1:]} <= {"127.0.0.1", "::1"}


# In a network and with a name of our own: an address of a card, of nobody, or none.
NAMED = """
set -e
ip link set lo up
ip link add card type veth peer name switch
ip addr add 10.99.0.1/24 dev card
ip link set card up
ip link set switch up
hostname odd-name
mount -t tmpfs none /mnt
printf '%b' "$NAMES" >/mnt/hosts
mount --bind /mnt/hosts /etc/hosts
exec "$@"
"""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param("127.0.0.1 localhost\\n10.99.0.1 odd-name\\n", id="the network card", marks=pytest.mark.long),
        pytest.param("127.0.0.1 localhost\\n10.99.0.77 odd-name\\n", id="an address that is gone"),
        pytest.param("", id="nothing", marks=pytest.mark.long),
    ],
)
def test_whatever_the_name_of_the_machine_resolves_to(here: Path, names: str):
    inside = ["unshare", "--net", "--uts", "--mount", "sh", "-c", NAMED, "sh"]
    tried = subprocess.run([*inside, "true"], env={**os.environ, "NAMES": names}, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no network of one's own can be made here: {tried.stderr.strip()}")
    command = [*inside, sys.executable, "-m", "minipod", "run", "-n", "2", "-d", "1", "--limit", "100", "p.py"]
    env = {**os.environ, "NAMES": names, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    assert sorted(done.stdout.splitlines()) == ["[0] 2.0 127.0.0.1", "[1] 2.0 127.0.0.1"], done.stderr


@pytest.mark.skipif(hosts.why_not() is not None, reason=hosts.why_not() or "")
def test_pretend_hosts_listen_inside_their_own_network(here: Path):
    with hosts.lab() as lab:
        done = lab.run("p.py", devices=1, limit=100)
    addresses = [re.findall(r"[\d.]+", text)[1:] for text in done.outputs]
    assert [set(found) - {"127.0.0.1"} for found in addresses] == [{"10.77.0.1"}, {"10.77.0.2"}], done.outputs
