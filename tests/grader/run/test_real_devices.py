"""`pytest lessons/ --device real`: on the devices that JAX finds by itself. Here they are CPU devices, four or eight,

as JAX_NUM_CPU_DEVICES says of them; a GPU and a TPU are only described.
"""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from checker_runs import answer, check, project
from seldom import rarely

from grader.exercise.spec import Budget, Machine, Spec
from grader.run import own_devices

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


def test_on_eight_it_is_checked_a_mistake_is_named_and_what_needs_processes_is_skipped(root: Path):
    solved = (root / "solutions/ch90_one.py").read_text()
    answer(root, "ch90_one", solved + "\n\ndef double(x):\n    return x * x\n", "one_wrong")
    answer(root, "ch91_pair", (root / "solutions/ch91_pair.py").read_text(), "one_wrong")
    checked = real(root, 8, "--answers=one_wrong")
    expected = {"double": "wrong", "total": "right", "count_to": "right", "everybody": "skipped"}
    assert (checked.code, outcomes(checked)) == (1, expected)
    assert checked.rows["ch90_one.double"]["mistake"] == "double__squared"
    assert "on this machine's own devices: 8 cpu · cpu; matrix products use full precision" in checked.text
    assert "start pytest with `srun` or `mpirun`" in checked.rows["ch91_pair.everybody"]["message"]


@pytest.mark.long
def test_on_four_what_needs_eight_says_so_in_one_line(root: Path):
    checked = real(root, 4, "--solutions", "lessons/ch90_one")
    assert checked.code == 0
    assert outcomes(checked) == {"double": "skipped", "total": "skipped", "count_to": "right"}
    said = checked.rows["ch90_one.double"]["message"]
    assert said.startswith("is designed for 8 devices, but this machine has 4 (cpu): even the reference solution")
    assert "\n" not in said


def refuses(checked, sentence: str) -> bool:
    return checked.code == 4 and f"ERROR: --device real: {sentence}" in checked.text and "Traceback" not in checked.text


@pytest.mark.long
def test_what_cannot_be_is_one_sentence(root: Path):
    assert refuses(real(root, 1), "JAX finds only one CPU device here; leave out this option")
    assert refuses(real(root, 4, JAX_PLATFORMS="rocket"), "JAX did not start on this machine's devices (")
    assert refuses(
        real(root, 4, "-n2"), "the exercises share this machine's devices, so they must run one at a time; leave out -n"
    )


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
