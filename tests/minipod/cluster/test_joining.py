"""Programs that know nothing of minipod: they name the coordinator, or nothing; their number is an argument."""

import errno
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minipod import cluster
from minipod.processes import free_port
from minipod.processes.ports import in_the_way

# The address, this process's number, how many, and seconds to stay: all from the command line. Line 4 joins.
NAMED = """import sys, time
import jax
import numpy as np
jax.distributed.initialize(sys.argv[1], int(sys.argv[3]), int(sys.argv[2]))
x = jax.make_array_from_callback(
    (2,), jax.NamedSharding(jax.make_mesh((2,), "i"), jax.P("i")), lambda at: np.array([at[0].start + 1.0])
)
print("process", jax.process_index(), "of", jax.process_count(), "gets", x.sum())
time.sleep(float(sys.argv[4]) if len(sys.argv) > 4 else 0)
"""
UNNAMED = NAMED.replace("sys.argv[1], int(sys.argv[3]), int(sys.argv[2])", "")
SUMS = [f"process {i} of 2 gets 3.0\n" for i in (0, 1)]
BOTH = ("{process}", "{processes}")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text(NAMED)
    return tmp_path


def run(*arguments: str, processes: int = 2) -> cluster.Run:
    return cluster.run("toy.py", *arguments, processes=processes, devices=1, check=False, limit=100)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_program_may_name_its_coordinator_and_be_given_its_number(host: str):
    assert run(f"{host}:{free_port()}", *BOTH).outputs == SUMS


def test_the_address_may_be_ours(here: Path):
    assert run("{coordinator}", *BOTH).outputs == SUMS


def test_a_program_may_leave_everything_to_us(here: Path):
    (here / "toy.py").write_text(UNNAMED)
    assert run().outputs == SUMS


@pytest.mark.parametrize("named", [True, False])
def test_a_program_may_leave_its_number_to_us_and_join_twice(named: bool, here: Path):
    """Process 0's service ends late: whoever joins again must not meet it as it goes."""
    (here / "toy.py").write_text(
        "import sys, time, jax\n"
        "from jax._src import distributed\n"
        "for _ in range(3):\n"
        "    jax.distributed.initialize(*sys.argv[1:])\n"
        "    print(jax.distributed.is_initialized(), distributed.global_state.process_id)\n"
        "    service = distributed.global_state.service\n"
        "    if service:\n"
        "        class Late:\n"
        "            def shutdown(self, end=service.shutdown):\n"
        "                time.sleep(0.5), end()\n"
        "        distributed.global_state.service = Late()\n"
        "        del service\n"
        "    jax.distributed.shutdown()\n"
    )
    address = [f"localhost:{free_port()}"] if named else []
    done = run(*address)
    assert done.outputs == ["True 0\n" * 3, "True 1\n" * 3], done.first_failure


@pytest.mark.parametrize("number", ["0", "1"])
def test_a_number_twice_ends_the_run_at_once(number: str):
    port = free_port()
    done = run(f"localhost:{port}", number, "2")
    assert re.sub(r" \(toy\.py:4\)", "", str(done.first_failure)) == (
        f"processes 0 and 1 both join localhost:{port} as process {number}: each needs a number of its own, such as "
        "{process} among its arguments"
    )
    assert done.exit_code == 1 and done.seconds < 60


def test_three_with_one_number_are_named_as_soon_as_two_have_come():
    done = run(f"localhost:{free_port()}", "2", "3", processes=3)
    found = re.match(r"processes (0, 1 and 2 all|[012] and [012] both) join localhost:", str(done.first_failure))
    assert found and " as process 2: each" in str(done.first_failure), done


def test_more_processes_than_were_started_never_come():
    done = run(f"localhost:{free_port()}", "{process}", "4")
    sentence = (
        "raised ValueError: num_processes is 4, but 2 were started, and the others would never come: start as many, or "
        "give the program {processes}, at toy.py:4"
    )
    assert sentence in str(done.first_failure) and done.seconds < 60


def test_processes_that_name_different_ports_never_meet():
    even = 2 * (free_port() // 20)  # without its last digit
    done = run(f"localhost:{even}{{process}}", *BOTH)
    assert re.sub(r" \(toy\.py:4\)", "", str(done.first_failure)) == (
        f"process 0 waits at localhost:{even}0 for process 1, which will not come; process 1 joins localhost:{even}1"
    )


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("192.0.2.1:1234", "the coordinator should be at 192.0.2.1:1234, which is not this machine, where all"),
        ("no-such.invalid:99", "the coordinator should be at no-such.invalid:99, and this machine does not know that"),
        ("localhost", "'localhost' is no address of a coordinator: it needs a host and a port, as localhost:10000"),
        ("localhost:0", "'localhost:0' is no address of a coordinator: it needs a host and a port, as localhost:10000"),
    ],
)
def test_an_address_at_which_nobody_can_be(address: str, says: str):
    done = run(address, *BOTH)
    assert f"raised ValueError: {says}" in str(done.first_failure), done
    assert str(done.first_failure).split("; ")[0].endswith(", at toy.py:4") and done.seconds < 60


def test_a_port_that_another_program_has_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"localhost:{other.getsockname()[1]}"
        done = run(address, *BOTH)
    assert str(done.first_failure).startswith(
        f"process 0 raised OSError: another program listens on {address}: let it end, or give the program "
        "{coordinator}, a free address, at toy.py:4"
    )


def test_of_two_clusters_with_one_address_the_second_is_told_and_the_first_goes_on():
    address, up = f"localhost:{free_port()}", threading.Event()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(cluster.run, "toy.py", address, *BOTH, "9", devices=1, limit=100, show=lambda *_: up.set())
        assert up.wait(60)
        done = run(address, *BOTH)
        assert first.result().outputs == SUMS
    assert str(done.first_failure).startswith(
        f"process 0 raised OSError: another run of minipod listens on {address}: let it end, or give the program "
    )
    assert run(address, *BOTH).outputs == SUMS  # the address is free again


def test_what_is_in_the_way_of_listening():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = taken.getsockname()
        here, away, free = ("127.0.0.1", where[1]), ("192.0.2.1", 0), ("127.0.0.1", 0)
        tried = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", each) for each in (here, away, free)]
        assert in_the_way(tried) == [errno.EADDRINUSE, errno.EADDRNOTAVAIL, None]
