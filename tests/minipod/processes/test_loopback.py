"""A cluster on this machine listens on loopback only, whatever the machine's name resolves to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cluster_programs import PSUM

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel who listens where, through /proc")


# In a network and with a name of our own: it has an address of this machine, or none.
NAMED = """
set -e
ip link set lo up
ip addr add 10.99.0.1/24 dev lo
hostname odd-name
mount -t tmpfs none /mnt
printf '%b' "$NAMES" >/mnt/hosts
mount --bind /mnt/hosts /etc/hosts
exec "$@"
"""


@pytest.mark.parametrize(
    "names",
    [
        pytest.param("127.0.0.1 localhost\\n10.99.0.1 odd-name\\n", id="another address of this machine"),
        pytest.param("", id="nothing", marks=pytest.mark.long),
    ],
)
def test_whatever_the_name_of_the_machine_resolves_to(tmp_path: Path, names: str):
    (tmp_path / "p.py").write_text(PSUM)
    inside = ["unshare", "--net", "--uts", "--mount", "sh", "-c", NAMED, "sh"]
    tried = subprocess.run([*inside, "true"], env={**os.environ, "NAMES": names}, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no network of one's own can be made here: {tried.stderr.strip()}")
    command = [*inside, sys.executable, "-m", "minipod", "run", "-n", "2", "-d", "1", "--limit", "300", "p.py"]
    env = {**os.environ, "NAMES": names, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert sorted(done.stdout.splitlines()) == [f"[{i}] 2.0 {i} 2 odd-name 127.0.0.1" for i in range(2)], done.stderr
