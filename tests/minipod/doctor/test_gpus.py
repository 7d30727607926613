"""Who has which GPU, by an `nvidia-smi` of a few lines whose answers are those of an H100 machine."""

from pathlib import Path

import pytest

from minipod.doctor import gpus
from minipod.doctor.gathered import Gathered, findings

QUERIES = {"uuids": "--query-gpu=uuid", "apps": "--query-compute-apps=gpu_uuid,pid"}
QUERIES["memory"] = "--query-gpu=index,uuid,memory.used,memory.total"
FIRST, SECOND = "GPU-251499b0-c016-2e68-b6cc-2023f835cdef", "GPU-9a0e7f31-52d4-7c1b-0d11-5be2a9c46d02"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes `nvidia-smi` answer each query so."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def answers(code: int = 0, **said: str) -> None:
        cases = [f'  "{QUERIES[query]}") printf "%s\\n" "{text}";;\n' for query, text in said.items()]
        program = tmp_path / "nvidia-smi"
        program.write_text(f'#!/bin/sh\ncase "$1" in\n{"".join(cases)}esac\nexit {code}\n')
        program.chmod(0o755)

    return answers


def test_a_device_is_known_by_what_its_process_may_see(smi):
    smi(uuids=f"{FIRST}\n{SECOND}")
    for visible, ordinals, found in (
        (None, [0], [FIRST]),
        (None, [0, 1], [FIRST, SECOND]),
        ("1", [0], [SECOND]),
        ("1,0", [0, 1], [SECOND, FIRST]),
        (SECOND[:12], [0], [SECOND]),
        ("MIG-GPU-1/2/3", [0], []),
        ("7", [0], []),
        (None, [2], []),
    ):
        assert gpus.identities(ordinals, {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}) == found


def test_memory_that_somebody_holds_is_told_with_the_process_and_what_is_not_said_is_not_guessed(smi):
    full = f"0, {FIRST}, 61369, 81559"
    for said in ({}, {"code": 9, "memory": full}, {"memory": full.replace("61369", "[N/A]"), "apps": "[N/A], [N/A]"}):
        smi(uuids=FIRST if "code" in said else "No devices were found, today", **said)
        assert gpus.identities([0], {}) == [] and gpus.held() is None
    smi(memory=f"{full}\n1, {SECOND}, 9, 81559", apps=f"{FIRST}, 999999999")
    found = gpus.held()
    assert found and found.value == "GPU 0: 59.9 of 79.6 GiB used by process 999999999" and not found.needed
    smi(memory=full)
    found = gpus.held()
    assert found and found.value == "GPU 0: 59.9 of 79.6 GiB used"


def test_two_processes_on_one_gpu_are_told():
    fact = {"host": "a", "versions": {}, "python": "p", "machine": "m", "settings": {}, "proxy": "", "own": []}
    all_of = Gathered(3, "Slurm", "a:1", facts={p: fact for p in range(3)})
    devices = {"platform": "gpu", "kind": "NVIDIA H100", "here": 1}
    all_of.steps = {p: {"devices": devices, "gpus": [g]} for p, g in enumerate((FIRST, SECOND, FIRST))}
    (found,) = [f for f in findings(all_of) if f.name == "GPUs"]
    assert found.value == "GPU-251499b0 is used by processes 0, 2 (a)" and found.needed
    all_of.steps[2]["gpus"] = []  # not known
    assert not [f for f in findings(all_of) if f.name == "GPUs"]
