"""`pytest lessons/ --device real`: on the devices that JAX finds by itself. Here they are CPU devices, four or eight,

as JAX_NUM_CPU_DEVICES says of them; a GPU and a TPU are only described.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from checker_runs import answer, check, project
from seldom import rarely

from grader.exercise.spec import Budget, Machine, Settings, Spec
from grader.run import checking, own_devices
from minipod import forked

GPU, TPU, CPU = Machine(1, "gpu", "NVIDIA H100"), Machine(8, "tpu", "TPU v5 lite"), Machine(8, "cpu", "cpu")
SPEC = Spec("ch90_one", "total", Path("lessons/ch90_one"), cases=lambda rng: [])


def real(root: Path, devices: int, *options: str, **env: str):
    """The checks on so many CPU devices, which are taken for the machine's own."""
    settings = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(devices), "LANG": "en_US.UTF-8", **env}
    return check(root, "--device=real", *options, env=settings)


def outcomes(checked) -> dict[str, str]:
    return {name.partition(".")[2]: row["outcome"] for name, row in checked.rows.items()}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("real"))


def test_on_eight_what_can_be_checked_is_and_what_needs_processes_is_not(root: Path):
    checked = real(root, 8, "--solutions")
    assert checked.code == 0, checked.text
    assert outcomes(checked) == dict.fromkeys(("double", "total", "count_to"), "right") | {"everybody": "skipped"}
    assert "on this machine's own devices: 8 cpu · cpu; matrix products at full precision" in checked.text
    assert "start pytest by `srun` or `mpirun`" in checked.rows["ch91_pair.everybody"]["message"]


@pytest.mark.long
def test_on_four_what_needs_eight_says_so_in_one_line(root: Path):
    checked = real(root, 4, "--solutions", "lessons/ch90_one")
    assert checked.code == 0
    assert outcomes(checked) == {"double": "skipped", "total": "skipped", "count_to": "right"}
    said = checked.rows["ch90_one.double"]["message"]
    assert said.startswith("needs 8 devices and finds 4 (cpu): the reference solution") and "\n" not in said


def test_a_wrong_answer_is_wrong_on_them_too_and_its_mistake_is_named(root: Path):
    wrong = (
        "def double(x):\n    return x\ndef total(x, mesh):\n    return x.sum() + 1\ndef count_to(n):\n    return n\n"
    )
    answer(root, "ch90_one", wrong, "wrong")
    checked = real(root, 8, "--answers=wrong", "lessons/ch90_one")
    plain = check(root, "--answers=wrong", "lessons/ch90_one")
    assert checked.code == 1 and outcomes(checked) == outcomes(plain) == dict.fromkeys(outcomes(checked), "wrong")
    assert {n: r["mistake"] for n, r in checked.rows.items()} == {n: r["mistake"] for n, r in plain.rows.items()}


@pytest.mark.parametrize(
    ("options", "devices", "env", "sentence"),
    [
        ((), 1, {}, "--device real: JAX finds one CPU device here and nothing else; without this option eight"),
        ((), 4, {"JAX_PLATFORMS": "rocket"}, "--device real: JAX does not start on this machine's devices ("),
        (("-n2",), 4, {}, "--device real: one process at a time can have the devices; leave out -n"),
        (("--device=gpu",), 4, {}, "--device gpu: choose one of simulated, real"),
    ],
)
def test_what_cannot_be_is_one_sentence(root: Path, options, devices: int, env, sentence: str):
    checked = real(root, devices, *options, **env)
    assert checked.code == 4 and f"ERROR: {sentence}" in checked.text and "Traceback" not in checked.text


def in_a_process_of_its_own(test):
    """No child can be forked from a process in which another test has started JAX: pytest runs this one once more."""
    if os.environ.get("IN_A_PROCESS_OF_ITS_OWN"):
        return test

    def alone():
        command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", f"{__file__}::{test.__name__}"]
        env = os.environ | {"IN_A_PROCESS_OF_ITS_OWN": "1"}
        done = subprocess.run(command, cwd=Path(__file__).parents[3], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    alone.__name__ = test.__name__
    return alone


@in_a_process_of_its_own
def test_a_child_has_the_machines_own_devices_at_full_precision():
    def see():
        import jax

        return [jax.device_count(), jax.config.values["jax_default_matmul_precision"]]

    (seen,) = forked.run(see, devices=None)
    assert seen.status == "ok" and seen.value[1] == "highest"
    (seen,) = forked.run(see, devices=3)
    assert seen.value == [3, None]


def test_what_is_counted_is_the_cpus_and_a_tolerance_is_wider_on_accelerators():
    with_budget = replace(SPEC, how="jit", budget=Budget({"all-reduce"}, 7))
    for machine in (GPU, TPU):
        assert own_devices.counted_beside(with_budget, machine)
        assert own_devices.counted_beside(SPEC, machine) == (machine.count < SPEC.devices)
        assert not own_devices.not_here(with_budget, machine, in_cluster=False)
        why = own_devices.not_here(with_budget, machine, in_cluster=True)
        assert why and why.key == "real-budget"
        fitted = own_devices.fitted(with_budget, machine)
        assert (fitted.budget, fitted.tolerance) == (None, 1e-4)
        assert own_devices.fitted(replace(SPEC, tolerance=1e-2), machine).tolerance == 1e-2
    assert not own_devices.counted_beside(with_budget, CPU)
    assert own_devices.fitted(with_budget, CPU) == with_budget
    pair = replace(SPEC, processes=2)
    assert own_devices.not_here(pair, TPU, in_cluster=False) and not own_devices.not_here(pair, TPU, in_cluster=True)


@in_a_process_of_its_own
def test_a_budget_is_counted_beside_and_values_are_the_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A TPU is pretended: its devices are the eight CPU devices that a child finds by itself."""
    from grader.exercise.exercises import Catalogue as Exercises

    spec = Exercises(Path(__file__).parents[3] / "lessons").spec("ch04_jit.known_to_all")
    solution = (Path(__file__).parents[3] / "solutions/ch04_jit.py").read_text()
    answers = {
        "right": solution,
        "sends more": solution.replace("x.shape[1] < w.shape[1]", "x.shape[1] > w.shape[1]"),
        "wrong": solution.replace("jnp.matmul", "(lambda x, w: x @ w + 1)"),
    }
    os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
    used, start, seen = [], forked.start, {}

    def noted(look, processes, devices, *more, **named):
        used.append(devices)
        return start(look, processes, devices, *more, **named)

    monkeypatch.setattr(checking.forked, "start", noted)
    for name, text in answers.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "ch04_jit.py").write_text(text)
        check = checking.begin(spec, Settings(tmp_path / name, 1, machine=TPU))
        assert check.counted and check.spec.budget is None
        verdict = checking.finish(check)
        seen[name] = verdict.outcome, checking.in_words(check, "en")
    assert seen["right"][0] == "right" and {None, 8} <= set(used)
    assert seen["sends more"][0] == "wrong" and "bytes" in seen["sends more"][1]
    assert seen["wrong"][0] == "wrong" and "bytes" not in seen["wrong"][1], seen


@in_a_process_of_its_own
def test_one_child_at_a_time_has_the_devices(root: Path, monkeypatch: pytest.MonkeyPatch):
    from grader.exercise.exercises import Catalogue as Exercises

    most, start = [0], forked.start

    def counted(look, processes, devices, *more, **named):
        assert devices is None
        job = start(look, processes, 8, *more, **named)
        from minipod.forked import forking

        most[0] = max(most[0], len(forking._live))
        return job

    for place in (checking.forked, __import__("grader.run.mistakes_seen", fromlist=["x"]).forked):
        monkeypatch.setattr(place, "start", counted)
    answer(root, "ch90_one", "def double(x):\n    return 3 * x\n", "three")
    settings = Settings(root / "three", 1, machine=CPU)
    verdict = checking.finish(checking.begin(Exercises(root / "lessons").spec("ch90_one.double"), settings))
    assert verdict.outcome == "wrong" and most == [1]


PRETENDED = """
import os, sys
import pytest
from grader.exercise.spec import Machine
from grader.run import own_devices
count, report = int(sys.argv[1]), sys.argv[2]
own_devices.find = lambda: Machine(count, "tpu", "pretended")
os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": str(count)}
options = ["--device=real", "--solutions", f"--report={report}", "-q", "-p", "no:cacheprovider"]
sys.exit(pytest.main(["lessons/", *options]))
"""


@pytest.mark.long
@pytest.mark.parametrize("count", [8, *rarely(4, 2, 1)])
def test_so_many_exercises_are_checked_as_the_guide_says(count: int, tmp_path: Path):
    home = Path(__file__).parents[3]
    command = [sys.executable, "-c", PRETENDED, str(count), str(tmp_path / "report.json")]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    rows = json.loads((tmp_path / "report.json").read_text())
    right = [row["exercise"] for row in rows if row["outcome"] == "right"]
    assert {row["outcome"] for row in rows} == {"right", "skipped"}
    row = f"\n| {count} | {len(right)} | {sum(name < 'ch10' for name in right)} |\n"
    for language, head in (("en", f"of the {len(rows)} exercises"), ("zh-Hans", f"{len(rows)} 道练习")):
        text = (home / f"book/{language}/teaching.md").read_text(encoding="utf-8")
        assert head in text and row in text, (head, row)
