"""Programs that know nothing of minipod: they name the coordinator, or nothing; their number is an argument."""

import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minipod import cluster
from minipod.cluster import joining
from minipod.processes import free_port, ports

# The address, this process's number, how many, and a file to wait for: all from the command line. Line 4 joins.
NAMED = """import os, sys, time
import jax
import numpy as np
jax.distributed.initialize(sys.argv[1], int(sys.argv[3]), int(sys.argv[2]))
x = jax.make_array_from_callback(
    (2,), jax.NamedSharding(jax.make_mesh((2,), "i"), jax.P("i")), lambda at: np.array([at[0].start + 1.0])
)
print("process", jax.process_index(), "of", jax.process_count(), "gets", x.sum())
while sys.argv[4:] and not os.path.exists(sys.argv[4]):
    time.sleep(0.05)
"""
SUMS = [f"process {i} of 2 gets 3.0\n" for i in (0, 1)]
BOTH = ("{process}", "{processes}")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.py").write_text(NAMED)
    return tmp_path


def run(*arguments: str, processes: int = 2) -> cluster.Run:
    return cluster.run("toy.py", *arguments, processes=processes, devices=1, check=False, limit=300)


def failure(done: cluster.Run) -> str:
    """The sentence, without the line that joins."""
    return str(done.first_failure).replace(" (toy.py:4)", "")


# Joins and leaves three times before, as this says. Process 0's service ends late: whoever joins again must not meet it
# as it goes.
AGAIN = """import sys, time, types
import jax
from jax._src import distributed
for how in {ways}:
    jax.distributed.initialize(*how)
    print(jax.distributed.is_initialized(), distributed.global_state.process_id)
    if service := distributed.global_state.service:
        distributed.global_state.service = types.SimpleNamespace(
            shutdown=lambda end=service.shutdown: (time.sleep(0.3), end()))
        del service
    jax.distributed.shutdown()
"""


@pytest.mark.parametrize(
    ("address", "ways"),
    [
        ("127.0.0.1:{port}", "[(sys.argv[1],)] * 3"),  # all named, its number left to us
        ("", "[()] * 3"),
        # first at an address, then at the one that minipod has chosen
        pytest.param("{coordinator}", "[('localhost:{port}',)] * 3", marks=pytest.mark.long),
    ],
)
def test_a_program_may_name_its_coordinator_or_leave_its_number_or_everything_to_us_and_join_again(address, ways, here):
    port = str(free_port())
    program = NAMED if address else NAMED.replace("sys.argv[1], int(sys.argv[3]), int(sys.argv[2])", "")
    (here / "toy.py").write_text(AGAIN.format(ways=ways.replace("{port}", port)) + program.partition("while")[0])
    done = run(address.replace("{port}", port), *BOTH)
    assert done.outputs == [f"True {i}\n" * 3 + SUMS[i] for i in (0, 1)], done.first_failure


@pytest.mark.parametrize("number", ["0", pytest.param("1", marks=pytest.mark.long)])
def test_a_number_twice_ends_the_run_at_once(number: str):
    port = free_port()
    done = run(f"localhost:{port}", number, "2")
    assert failure(done) == (
        f"processes 0 and 1 both join localhost:{port} as process {number}: give each its own number, for example "
        "by passing {process} as an argument"
    )
    assert done.exit_code == 1


def test_more_processes_than_were_started_never_come_and_the_coordinator_listens_where_it_is_named(monkeypatch):
    monkeypatch.setenv("MINIPOD_PROCESSES", "2")
    said = (
        "num_processes is 4, but only 2 were started, so the processes would wait in vain: start 4, or pass "
        "{processes} to the program"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        joining._join({"coordinator_address": "localhost:1234", "num_processes": 4, "process_id": 0}, print)
    monkeypatch.setenv("MINIPOD_COORDINATOR", "127.0.0.1:1")
    given = {"coordinator_address": "localhost:1", "num_processes": 2, "process_id": 0}
    joining._join(given, lambda **_: None)
    assert given["coordinator_bind_address"] == "localhost:1"  # JAX would listen on every interface


def test_processes_that_name_different_ports_never_meet(here: Path):
    addresses = [f"localhost:{free_port()}" for _ in range(2)]
    (here / "toy.py").write_text(NAMED.replace("sys.argv[1]", f"{addresses}[int(sys.argv[2])]"))
    done = run("", *BOTH)
    assert failure(done) == (
        f"process 0 waits at {addresses[0]} for process 1, which never joins there; process 1 joins {addresses[1]}"
    )


def test_an_address_at_which_nobody_can_be():
    done = run("192.0.2.1:1234", *BOTH)
    says = "raised ValueError: the coordinator's address 192.0.2.1:1234 is not on this machine: "
    assert says in str(done.first_failure), done
    assert str(done.first_failure).split("; ")[0].endswith(", at toy.py:4")
    with pytest.raises(ValueError, match="this machine cannot resolve the coordinator's address no-such.invalid:99"):
        joining._obstacles("no-such.invalid:99", "no-such.invalid", 99)
    for address in ("localhost", "localhost:0"):
        with pytest.raises(ValueError, match=f"^'{address}' is not a coordinator's address: give a host and a "):
            ports.parts(address)


def test_a_port_that_another_program_has_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"localhost:{other.getsockname()[1]}"
        done = run(address, *BOTH)
    assert str(done.first_failure).startswith(
        f"process 0 raised OSError: another program uses {address}: wait until it ends, or pass "
        "{coordinator} to the program, at toy.py:4"
    )


def test_of_two_clusters_with_one_address_the_second_is_told_and_the_first_goes_on(here: Path):
    address, up = f"localhost:{free_port()}", threading.Event()
    with ThreadPoolExecutor() as pool:
        how = {"devices": 1, "limit": 600, "show": lambda *_: up.set()}
        first = pool.submit(cluster.run, "toy.py", address, *BOTH, "end", **how)
        try:
            assert up.wait(300)
            done = run(address, *BOTH)
        finally:
            (here / "end").touch()
        assert first.result().outputs == SUMS
    assert str(done.first_failure).startswith(
        f"process 0 raised OSError: another run of minipod uses {address}: wait until it ends, or pass {{coordinator}}"
    )
