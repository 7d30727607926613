"""The pytest plug-in, used as a stranger would: a file of tests in a folder of its own, and what pytest prints."""

import re

import pytest
from strangers_tests import run


def test_a_test_runs_in_the_cluster_that_it_asks_for_and_its_fault_strikes_at_its_step(tmp_path):
    printed, outcomes = run(
        tmp_path,
        """
def test_ordinary():
    assert rows().sum() == 28 and jax.process_count() == 1   # starts JAX in pytest's own process

@pytest.mark.processes(2, devices=4)
def test_cluster():
    assert (jax.process_count(), jax.device_count(), jax.local_device_count()) == (2, 8, 4)
    assert total(rows()).tolist() == [28.0]

@pytest.fixture
def x():
    yield rows(16)
    assert jax.device_count() == 8   # torn down where it was set up

@pytest.mark.devices(8)
@pytest.mark.parametrize("scale", [1, 2])
def test_devices(x, scale):
    assert float((scale * x).sum()) == 120 * scale and len(x.addressable_shards) == 8

@pytest.mark.processes(2, devices=1)
def test_folders(tmp_path, shared_tmp_path):
    (tmp_path / "own").touch()
    (shared_tmp_path / str(jax.process_index())).touch()
    multihost_utils.sync_global_devices("written")
    assert sorted(p.name for p in shared_tmp_path.iterdir()) == ["0", "1"]
    assert [p.name for p in tmp_path.iterdir()] == ["own"]

@pytest.mark.processes(2, devices=1)
def test_skipped():
    pytest.skip("not here")

@pytest.mark.processes(2, devices=1)
@pytest.mark.xfail(reason="known")
def test_expected():
    assert jax.process_index() == 2

@pytest.mark.processes(2, devices=1)
@pytest.mark.fault("kill", process=1, step=3)
def test_survives():
    for step in range(5):
        reach(step)

@pytest.mark.processes(2, grace=10)
@pytest.mark.fault("kill", process=1, step=1)
def test_notices():
    reach(1)
    total(rows()).block_until_ready()

@pytest.mark.processes(2, devices=1)
@pytest.mark.fault("delay", process=0, step=0, seconds=0.2)
def test_late():
    sleep, slept = time.sleep, []
    time.sleep = lambda seconds: slept.append(seconds) or sleep(seconds)
    reach(0)
    assert (0.2 in slept) == (jax.process_index() == 0)

@pytest.mark.processes(2, devices=1)
@pytest.mark.fault("kill", process=1, step=3)
def test_fails_first():
    assert jax.process_index() == 0

@pytest.mark.processes(2, devices=1)
@pytest.mark.fault("kill", process=1, step=300)
def test_never_reached():
    reach(3)

@pytest.mark.processes(2, devices=1)
@pytest.mark.fault("delay", process=1, step=0, seconds=0.1)
def test_dies_after_a_delay():
    reach(0)
    if jax.process_index():
        os._exit(3)

@pytest.mark.devices(1)
def test_only_its_child_passes():
    if child := os.fork():
        os.waitpid(child, 0)
        assert False
""",
    )
    passed = "ordinary", "cluster", "devices[1]", "devices[2]", "folders", "survives", "late"
    assert {name for name, outcome in outcomes.items() if outcome == "PASSED"} == {f"test_{n}" for n in passed}, printed
    assert "5 failed, 7 passed, 1 skipped, 1 xfailed" in printed
    assert "process 1 of 2 passed, but never called reach(300), so its fault did not strike" in printed
    assert "process 1: was struck by its fault" in printed


def test_a_failure_is_shown_as_pytest_shows_it_with_the_process_and_what_the_others_did(tmp_path):
    printed, outcomes = run(
        tmp_path,
        """
@pytest.mark.processes(2)
def test_one_asserts():
    print("I am", jax.process_index())
    mine = [float(s.data[0]) for s in rows().addressable_shards]
    assert mine == [0.0, 1.0, 2.0, 3.0]
    total(rows()).block_until_ready()   # where process 0 waits

@pytest.mark.processes(2, seconds=15)
def test_one_hangs():
    while jax.process_index() == 0:
        time.sleep(0.1)   # here

@pytest.mark.processes(2, devices=1)
def test_one_exits():
    if jax.process_index():
        os._exit(3)
    total(rows()).block_until_ready()

@pytest.mark.processes(2, devices=1)
def test_one_prints():
    print("x" * 11_000_000)

@pytest.mark.devices(8)
def test_exits():
    raise SystemExit(0)

@pytest.fixture
def broken():
    raise OSError("no such disk")

@pytest.mark.processes(2, devices=1)
def test_set_up(broken):
    pass
""",
    )
    assert set(outcomes.values()) <= {"FAILED", "ERROR"} and len(outcomes) == 6, printed
    assert "E       assert [4.0, 5.0, 6.0, 7.0] == [0.0, 1.0, 2.0, 3.0]" in printed
    assert "this was process 1 of 2" in printed
    assert re.search(r"process 0: was still running .*test_it.py:\d+ in test_one_asserts", printed)
    assert "I am 0" in printed and "I am 1" in printed
    hung = r"process 0 of 2 was still running after [\d.]+ s, at .*test_it.py:\d+ in test_one_hangs\nprocess 1: passed"
    assert re.search(hung, printed)
    assert "process 1 of 2 ended unexpectedly: exit code 3" in printed
    assert "printed more than 10 MB and was stopped" in printed and len(printed) < 100_000
    assert outcomes["test_set_up"] == "ERROR" and "OSError: no such disk" in printed
    assert "Terminating process because the JAX distributed service" not in printed


def test_what_ordinary_tests_have_set_up_is_torn_down_when_the_last_one_has_run(tmp_path):
    """A fixture of a class, or of a module, whose last test is one with a marker; one fails as it is torn down."""
    printed, outcomes = run(
        tmp_path,
        """
@pytest.fixture(scope="class")
def shared(request):
    yield request.cls.__name__
    print(request.cls.__name__, "is torn down")
    assert request.cls is not TestSecond

class TestFirst:
    def test_here(self, shared): assert shared == "TestFirst"

    @pytest.mark.processes(2, devices=1)
    def test_cluster(self):
        print("I am", jax.process_index())
        assert jax.process_count() == 2

class TestSecond:
    def test_here(self, shared): print("second")

    @pytest.mark.devices(2)
    def test_devices(self): assert jax.device_count() == 2

def test_last(): print("last")
""",
        "-s",
    )
    assert "5 passed, 1 error" in printed, printed
    assert [outcomes[f"TestFirst::test_{name}"] for name in ("here", "cluster")] == ["PASSED"] * 2
    assert "[Output of process 1]\nI am 1\n" in printed and "Gloo" not in printed
    said = "TestFirst is torn down", "second", "TestSecond is torn down", "last"
    assert sorted(said, key=printed.index) == [*said]
    assert "ERROR test_it.py::TestSecond::test_devices - AssertionError" in printed


WRONG = {
    "processes(2, mat=3)": "processes: got an unexpected keyword argument 'mat'; use it as processes(n, dev",
    "processes(0)": "processes: n must be a whole number from 1 to 16, not 0",
    "processes(17)": "processes: n must be a whole number from 1 to 16, not 17",
    "devices('8')": "devices: n must be a whole number from 1 to 1024, not '8'",
    "fault('kill', process=0, step=1)": "fault needs the marker processes(n) or devices(n), too",
    "processes(2, seconds=-1)": "processes: seconds must be a number above 0 and below 1,000,000, not -1",
    "hosts(3) processes(4)": "hosts: the number of processes (4) must be a multiple of the number of hosts (3)",
    "hosts(5) processes(5)": "5 hosts: choose between 2 and 4",
    "hosts(2,rate='fast') processes(2)": "rate 'fast': give a number with its unit",
    "hosts(2)": "hosts needs the marker processes(n), too",
    "hosts() processes(2)": "use it as hosts(n, rate=None, delay=None)",
    "hosts(1,2,3,4) processes(2)": "hosts: takes from 1 to 3 positional arguments but 4 were given; use it as hosts(n,",
    "fault('kill','1',2) processes(2)": "fault: process must be a whole number from 0 to 1, not '1'",
}


def test_a_marker_that_asks_for_what_cannot_be_is_one_sentence(tmp_path):
    tests = ""
    for n, marks in enumerate(WRONG):
        tests += "".join(f"\n@pytest.mark.{mark}" for mark in re.findall(r"\w+\(.*?\)", marks))
        tests += f"\ndef test_{n}(): pass\n"
    printed, outcomes = run(tmp_path, tests)
    assert [said for said in WRONG.values() if said not in printed] == [] and "Traceback" not in printed
    assert outcomes == {f"test_{n}": "FAILED" for n in range(len(WRONG))}


# A module that starts JAX as it is imported.
CONSTANTS = "import jax.numpy as jnp\nX = jnp.ones(3)\ndef test_x(): assert len(X) == 3\n"
MISSED = "test_two[1] was not found when its file was collected again: RuntimeError: the port is in use"
ENDED = "the process that collected test_it.py again has ended"


@pytest.mark.parametrize(
    ("ends", "second", "said"),
    [
        ('raise RuntimeError("the port is in use")', "FAILED", MISSED),
        pytest.param("os._exit(3)", "PASSED", ENDED, marks=pytest.mark.long),
    ],
)
def test_a_file_that_cannot_be_imported_twice_says_why_and_is_tried_again_if_that_ended_a_process(
    tmp_path, ends, second, said
):
    (tmp_path / "test_constants.py").write_text(CONSTANTS)
    tests = f"""
with open("times", "a+") as file:   # imported by pytest, then once more, and again
    file.write("x")
    if file.tell() == 2:
        {ends}

@pytest.mark.devices(2)
@pytest.mark.parametrize("n", [1, 2])
def test_two(n): assert jax.device_count() == 2
"""
    printed, outcomes = run(tmp_path, tests, str(tmp_path / "test_constants.py"))
    assert outcomes == {"test_x": "PASSED", "test_two[1]": "FAILED", "test_two[2]": second} and said in printed, printed


@pytest.mark.long
def test_where_nothing_can_be_forked_a_cluster_is_skipped_with_the_reason_and_the_others_run(tmp_path):
    (tmp_path / "conftest.py").write_text("import os\ndel os.fork\n")
    tests = "\ndef test_here(): assert rows().sum() == 28\n\n@pytest.mark.processes(2)\ndef test_cluster(): pass\n"
    printed, outcomes = run(tmp_path, tests)
    assert "1 passed, 1 skipped" in printed and outcomes == {"test_here": "PASSED"}
    assert "this system has no os.fork: on Windows, use WSL2" in printed


@pytest.mark.parametrize("options", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)])
def test_a_module_that_starts_jax_as_it_is_imported_is_no_harm_to_the_tests_of_others(tmp_path, options):
    """Two files with markers, one before and one after it, whose tests are parametrized, and share a fixture.

    A plug-in with a file of its own gets the report of each file once, though some are collected in two processes.
    """
    (tmp_path / "conftest.py").write_text("""
import os, pathlib

FILE = open(pathlib.Path(__file__).parent / f"collected-{os.getpid()}", "w", buffering=1)

def pytest_collectreport(report):
    print(report.nodeid, file=FILE)
""")
    told = "import pytest\n@pytest.mark.processes(2)\ndef test_told(): pass\n"
    (tmp_path / "test_constants.py").write_text(CONSTANTS + told)
    other = "\nimport jax, pytest\n@pytest.mark.devices(3)\ndef test_three(): assert jax.device_count() == 3\n"
    (tmp_path / "test_other.py").write_text(other)
    printed, outcomes = run(
        tmp_path,
        """
@pytest.fixture(scope="module", params=[2, 4])
def x(request):
    return rows(request.param * jax.device_count())

@pytest.mark.processes(2, devices=1)
def test_summed(x, shared_tmp_path):
    assert total(x).shape == (len(x) // 2,)
    (shared_tmp_path / str(jax.process_index())).touch()

@pytest.mark.processes(2, devices=1)
def test_wrong():
    assert jax.process_count() == 3
""",
        str(tmp_path / "test_constants.py"),
        str(tmp_path / "test_other.py"),
        *options,
    )
    assert "4 passed" in printed and "2 failed" in printed, printed
    told = "JAX had started its devices before the test: make arrays and ask for devices in tests and fixtures, not at"
    assert told in printed and outcomes["test_told"] == "FAILED"
    assert "assert 2 == 3" in printed and re.search("this was process [01] of 2", printed)
    assert {outcomes[name] for name in ("test_x", "test_three", "test_summed[2]", "test_summed[4]")} == {"PASSED"}
    logs = [file.read_text().split() for file in tmp_path.glob("collected-*")]
    assert logs and all(sorted(set(log)) == sorted(log) for log in logs), logs


def test_what_a_test_has_started_ends_although_pytest_is_killed(tmp_path):
    """`run` fails if anything with the file's name still runs."""
    tests = """
import pathlib, subprocess, threading
BEGUN = pathlib.Path(__file__).with_name("begun")

def end(pytest):
    while not BEGUN.exists():
        time.sleep(0.01)
    os.kill(pytest, 9)

threading.Thread(target=end, args=(os.getpid(),), daemon=True).start()

@pytest.mark.devices(1)
def test_starts_a_program():
    subprocess.Popen(["tail", "-f", __file__], start_new_session=True)
    BEGUN.touch()
    time.sleep(1000)
"""
    assert run(tmp_path, tests)[1] == {} and (tmp_path / "begun").exists()


def test_what_pytest_hears_in_its_own_process_it_hears_of_every_process_of_a_test(tmp_path):
    """Subtests, warnings, properties, an alarm such as pytest-timeout's; skipped or failed in one of two processes.

    And by a plug-in that keeps its file and its pipe open.
    """
    (tmp_path / "conftest.py").write_text("""
import os, pathlib, signal, threading, time
import pytest

PYTEST, HERE = os.getpid(), pathlib.Path(__file__).parent
HEARD, MADE = open(HERE / "heard", "w", buffering=1), open(HERE / "made", "w", buffering=1)
READS, WRITES = os.pipe()

def pytest_runtest_logreport(report):
    name = report.nodeid.rpartition(":")[2]
    print(name, report.when, os.getpid() == PYTEST, report.user_properties, file=HEARD)

def pytest_runtest_makereport(item, call):   # in each process of a test
    print(item.name, call.when, file=MADE)
    os.write(WRITES, b"a report was made")
    if item.name == "test_raises":
        raise OSError("no such server")

def alarm(*_):
    pytest.fail("the alarm rang")

def ring():
    while not (HERE / "begun").exists():
        time.sleep(0.01)
    os.kill(PYTEST, signal.SIGALRM)

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if item.name == "test_slow" and os.getpid() == PYTEST:
        signal.signal(signal.SIGALRM, alarm)
        threading.Thread(target=ring, daemon=True).start()
    return (yield)
""")
    tests = """
import pathlib, unittest, warnings

@pytest.mark.devices(2)
def test_slow():
    pathlib.Path("begun").touch()
    time.sleep(60)   # here

@pytest.mark.processes(2, devices=1)
def test_subtests(subtests):
    with subtests.test("that", i=jax.process_index()):
        assert jax.process_index() == 0

class TestUnit(unittest.TestCase):
    @pytest.mark.devices(2)
    def test_unit(self):
        with self.subTest(n=1):
            self.fail()

@pytest.mark.devices(2)
@pytest.mark.filterwarnings("error:.*float64:UserWarning")
def test_strict():
    jnp.arange(3, dtype="float64")

@pytest.mark.processes(2, devices=1)
def test_warns(record_property):
    warnings.warn(f"heard of process {jax.process_index()}", RuntimeWarning)
    record_property("rank", np.int32(jax.process_index()))

@pytest.mark.processes(2, devices=1)
def test_skips():
    if jax.process_index() == 1:
        pytest.skip("has no disk")

@pytest.mark.processes(2, devices=1)
@pytest.mark.xfail(strict=True, reason="known")
def test_known():
    assert jax.process_index() == 0

@pytest.mark.devices(2)
def test_compares():
    assert [1, 2, 3] == [1, 2, 4]

@pytest.mark.devices(2)
def test_raises(): pass
"""
    printed, outcomes = run(tmp_path, tests)
    passed = {name for name, outcome in outcomes.items() if outcome != "FAILED"}
    assert passed == {"test_warns", "test_known"} and len(outcomes) == 9, printed
    assert re.search(
        r"the alarm rang\nthe process was still running after [\d.]+ s, at .*test_it.py:\d+ in test_slow", printed
    )
    assert re.search(r"SUBFAILED\[that\] \(i='?1'?\) test_it.py::test_subtests", printed)
    assert re.search(r"SUBFAILED\(n='?1'?\) test_it.py::TestUnit::test_unit", printed)
    assert printed.count("contains 1 failed subtest\n") >= 2
    assert "E       UserWarning: Explicitly requested dtype float64" in printed
    assert all(f"RuntimeWarning: heard of process {process}\n" in printed for process in (0, 1))
    said = "skipped only in process 1 of 2 (Skipped: has no disk): skip a test in every process, or in none"
    assert said in printed
    assert "XFAIL test_it.py::test_known - known (in process 1 of 2)" in printed
    assert "At index 2 diff: 3 != 4" in printed
    assert re.search(r"OSError: no such server\nin pytest_runtest_makereport at .*conftest.py:\d+\n", printed)
    made = (tmp_path / "made").read_text().splitlines()
    phases = [f"test_warns {when}" for when in ("call", "call", "setup", "setup", "teardown", "teardown")]
    assert [line for line in sorted(made) if "test_warns" in line] == phases
    heard = (tmp_path / "heard").read_text().splitlines()
    assert [line for line in heard if "test_warns" in line] == [
        "test_warns setup True []",
        "test_warns call True [('rank', '0'), ('rank', '1')]",
        "test_warns teardown True [('rank', '0'), ('rank', '1')]",
    ]


@pytest.mark.long
def test_a_debugger_of_pytest_has_no_keyboard(tmp_path):
    fails = "\n@pytest.mark.devices(2)\ndef test_it(): assert jax.device_count() == 3\n"
    printed, outcomes = run(tmp_path, fails, "--pdb")
    assert outcomes == {"test_it": "FAILED"} and "assert 2 == 3" in printed
