"""What the READMEs show happens, their links lead somewhere, and the guide's lines for a cluster run on real Slurm."""

import os
import re
import subprocess
import sys
from pathlib import Path

import projects
import pytest

from publish.page import ROOT, demo_cells
from publish.recorders import slurm

READMES = {"en": "README.md", "zh-Hans": "README.zh-Hans.md"}


def blocks(edition: str, language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)\n```$", (ROOT / READMES[edition]).read_text("utf-8"))


@pytest.mark.parametrize("edition", READMES)
def test_what_a_readme_links_to_is_there_and_the_cover_shows_its_code_and_its_answer(edition):
    text = (ROOT / READMES[edition]).read_text("utf-8")
    targets = [t for t in re.findall(r'\]\(([^)#\s]+)|src="([^"]+)"', text) for t in t if t and "://" not in t]
    assert len(targets) > 15
    assert [t for t in targets if not (ROOT / t).exists()] == []
    assert blocks(edition, "python")[0] == next(iter(demo_cells(ROOT / "lessons/index/demo.py").values()))
    page = (ROOT / "book" / edition / "index.md").read_text("utf-8")
    assert f"```text\n{blocks(edition, 'text')[0]}\n```" in page


@pytest.mark.long
@pytest.mark.parametrize("edition", READMES)
def test_the_answer_of_a_readme_is_told_what_it_says(edition, tmp_path):
    (tmp_path / "ch03_sharding.py").write_text("import jax.numpy as jnp\n" + blocks(edition, "python")[1])
    asked = f"lessons/ch03_sharding -k bytes_per_device --answers {tmp_path} --lang {edition} --seed 936413"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked.split()]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300).stdout
    shown = blocks(edition, "text")[0].splitlines()
    assert len(shown) == 5 and [line for line in shown if line not in said] == []


def test_both_readmes_have_the_same_commands_and_nothing_to_fill_in():
    found = [[line.partition("#")[0].strip() for line in "\n".join(blocks(e, "shell")).splitlines()] for e in READMES]
    assert found[0] == found[1] and len(found[0]) == 5
    assert [line for line in found[0] if "git clone" in line and "://" not in line] == []


# What a line prints, by its beginning, and its exit code: nothing is solved there, and no machine of CI has devices.
SRUN = "srun --nodes=2 --ntasks-per-node=1"
WANTED = {
    "sbatch lessons/ch14_launching/two_processes.sbatch": (0, "Submitted batch job"),
    f"{SRUN} -K1 python -m minipod start": (0, r"I am process [01] of 2(.|\n)*process [01] of 2"),
    f"{SRUN} minipod doctor --cluster": (0, r"2 \(Slurm\), on host0, host1(.|\n)*No problem was found\."),
    f"{SRUN} pytest lessons/ch10_processes": (1, "exercises checked here: 0 of 4 solved"),
    "pytest lessons/ --device real": (4, "JAX finds only one CPU device here"),
}


def commands_of(edition: str) -> list[str]:
    """The lines of the guide for instructors for a cluster, without their comments."""
    guide = (ROOT / "book" / edition / "teaching.md").read_text("utf-8")
    (block,) = [block for block in re.findall(r"(?ms)^```shell\n(.*?)\n```$", guide) if "two_processes.sbatch" in block]
    return [line.partition("#")[0].strip() for line in block.split("\n")]


@pytest.mark.long
@pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))
def test_each_line_for_a_cluster_works_on_two_hosts(tmp_path, monkeypatch):
    monkeypatch.chdir(projects.copy(tmp_path / "clone"))
    activate, *commands = commands_of("en")
    assert (activate, len(commands)) == (". .venv/bin/activate", len(WANTED))
    assert commands_of("zh-Hans") == [activate, *commands]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin:/usr/sbin:/sbin"
    env = {"HOME": os.environ["HOME"], "LANG": "C.UTF-8", "PATH": path}
    with slurm.cluster(hosts=2) as cluster:
        for command, (beginning, (code, wanted)) in zip(commands, WANTED.items(), strict=True):
            assert command.startswith(beginning)
            done = cluster.run(*command.split(), env=env, limit=300)
            said = done.stdout + done.stderr
            assert (done.returncode, bool(re.search(wanted, said))) == (code, True), f"{command}\n{said}"
            if job := re.search(r"Submitted batch job (\d+)", said):
                assert cluster.wait(int(job[1]))["JobState"] == "COMPLETED"
                log = Path(f"two-processes-{job[1]}.log").read_text()
                assert [f"{i}: I am process {i} of 2" in log for i in (0, 1)] == [True, True], log
