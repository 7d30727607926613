"""Exercise 1 of ch14 reads batch scripts as Slurm does: the same scripts, handed to a real Slurm."""

import json
import re
import sys
from pathlib import Path

import pytest

from lessons.ch14_launching.read_sbatch import read_sbatch
from publish.recorders import slurm
from publish.recorders.launchers import environment

WHY_NOT = slurm.why_not()
PROBE = """
import json, os, subprocess, sys, time
rank = int(os.environ.get("SLURM_PROCID", 0))
step = "SLURM_STEP_NODELIST" in os.environ
ask = ["squeue", "-h", "-o", "%l", "-j", os.environ["SLURM_JOB_ID"]]
said = {
    "processes": int(os.environ["SLURM_NTASKS"]) if step else 1,
    "node": os.environ["SLURMD_NODENAME"],
    "time": subprocess.run(ask, capture_output=True, text=True).stdout.strip(),
    "at once": sys.stdout.write_through or sys.stdout.line_buffering,
}
with open(f"{sys.argv[0]}.{rank}", "w") as file:
    json.dump(said, file)
if rank == 1:
    end = time.monotonic() + 30
    while not os.path.exists(f"{sys.argv[0]}.0") and time.monotonic() < end:
        time.sleep(0.1)
    sys.exit(3)
time.sleep(4)
with open(f"{sys.argv[0]}.{rank}", "w") as file:
    json.dump(said | {"survived": True}, file)
"""
SCRIPTS = {
    "the solution": "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2\n#SBATCH --time=30\nsrun -K1 @python -u @program",
    "short": "#SBATCH -N2 -n 2 -t 0:90\nexport PYTHONUNBUFFERED=1\nsrun -l @python @program",
    "a time with a colon": "#SBATCH --nodes=1 --ntasks=2 --time=00:45\nsrun --kill-on-bad-exit=1 @python @program",
    "no srun": "#SBATCH --nodes=2 --ntasks-per-node=2 --time=5\n@python -u @program",
    "options too late": "#SBATCH --nodes=1\nset -e\n#SBATCH --ntasks=4 --time=7\nsrun -K @python @program",
    "a pseudo terminal": "#SBATCH -N 2 -t 1:00:00\nsrun -u -K1 @python @program",
    "the variable": "#SBATCH -N 2 --time=0-0:50\nexport SLURM_KILL_BAD_EXIT=1\nsrun @python @program",
    "before srun": "#SBATCH -N 2 -t 55\nPYTHONUNBUFFERED=1 srun -K0 \\\n  @python @program",
    "exported by srun": "#SBATCH -N 2 -t 55:00\nsrun --export=ALL,PYTHONUNBUFFERED=1 @python @program",
    "fewer tasks than nodes": "#SBATCH --nodes=2 --ntasks=1 --time=3\nsrun -K1 @python -u @program",
    "ended in time": "#SBATCH -N 2 -t 4\nsrun -K1 timeout -s ABRT -k 10 60 @python -u @program",
    "the program's own flag": "#SBATCH -N 2 -t 4\nsrun -K1 @python @program -u",
    "a comment": "#SBATCH -N 2 -t 4\n# SBATCH --time=7\n #SBATCH --ntasks=4\nsrun @python -u @program",
    "awaited": "#SBATCH -N 2 -t 4\nsrun -K1 @python -u @program >out 2>&1 & wait",
}
LEFT_ALONE = "#!/bin/bash\n#SBATCH -t 4\nsrun python -u probe.py &\n"


REFUSED = {
    "an empty first line": "\n#!/bin/bash\n#SBATCH --time=5\nsrun python x.py\n",
    "an option of srun": "#!/bin/bash\n#SBATCH --time=5 --kill-on-bad-exit=1\nsrun python x.py\n",
    "another of srun's": "#!/bin/bash\n#SBATCH --unbuffered\nsrun python x.py\n",
    "no time": "#!/bin/bash\n#SBATCH --time=soon\nsrun python x.py\n",
    "no number": "#!/bin/bash\n#SBATCH --nodes=two\nsrun python x.py\n",
}


@pytest.mark.long
@pytest.mark.rarely
@pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")
def test_scripts_are_read_as_slurm_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    ours, slurms = {}, {}
    with slurm.cluster() as cluster:
        for name, text in REFUSED.items():
            Path("refused.sbatch").write_text(text)
            done = cluster.run("sbatch", "--test-only", "refused.sbatch")
            assert done.returncode, f"{name}: {done.stdout}{done.stderr}"
        Path("probe.py").write_text(PROBE)
        Path("left_alone.sbatch").write_text(LEFT_ALONE)
        left_alone = cluster.submit("left_alone.sbatch", env=environment())
        for i, (name, text) in enumerate(SCRIPTS.items()):
            program = f"probe{i}.py"
            Path(program).write_text(PROBE)
            text = "#!/bin/bash\n" + text.replace("@program", program).replace("@python", sys.executable) + "\n"
            Path(f"{i}.sbatch").write_text(text)
            done = cluster.run("sbatch", "--wait", f"--output={i}.log", f"{i}.sbatch", limit=90)
            said = [json.loads(p.read_text()) for p in sorted(tmp_path.glob(f"{program}.*"))]
            assert said, f"{name}: {done.stdout}{done.stderr}{Path(f'{i}.log').read_text()}"
            clock = re.split("[-:]", said[0]["time"])  # [days-]hours:minutes:seconds, without leading zeros
            slurms[name] = {
                "nodes": len({s["node"] for s in said}),
                "processes": max(s["processes"] for s in said),
                "seconds": sum(int(n) * unit for n, unit in zip(clock[::-1], (1, 60, 3600, 86400), strict=False)),
                "printed_lines": "at once" if all(s["at once"] for s in said) else "when the buffer is full",
            }
            if len(said) > 1:
                lives = any(s.get("survived") for s in said)
                slurms[name]["when_one_fails"] = "the others go on" if lives else "all end"
            ours[name] = {key: value for key, value in read_sbatch(text).items() if key in slurms[name]}
            if ours[name]["seconds"] == "not said":  # then it is the partition's
                del ours[name]["seconds"], slurms[name]["seconds"]
        assert cluster.job(left_alone)["JobState"] == "COMPLETED"
        assert not any("survived" in p.read_text() for p in tmp_path.glob("probe.py.*"))
    # Slurm counts in whole minutes, rounded up
    for read in ours.values():
        if "seconds" in read:
            read["seconds"] = -(-read["seconds"] // 60) * 60
    assert ours == slurms


@pytest.mark.parametrize("name", REFUSED)
def test_what_sbatch_refuses_is_refused(name: str):
    with pytest.raises(ValueError, match="^sbatch: |no number of nodes"):
        read_sbatch(REFUSED[name])
    with pytest.raises(ValueError, match="starts no Python"):
        read_sbatch("#!/bin/sh\n#SBATCH --time=5\n# srun python x.py\n")


def test_a_script_that_does_not_wait_for_what_it_started_ends_at_once():
    assert read_sbatch(LEFT_ALONE)["job_ends"] == "at once"
    for waits in (LEFT_ALONE + "wait\n", LEFT_ALONE.replace("&", "& wait"), LEFT_ALONE.replace("&", ">log 2>&1")):
        assert read_sbatch(waits)["job_ends"] == "with the program"


def test_options_that_are_a_comment_are_told_from_those_behind_a_command():
    for line in ("# SBATCH -t 5", " #SBATCH --time=5"):
        assert read_sbatch(f"#!/bin/sh\n{line}\nsrun python x.py\n")["not_read"] == "a comment"
        assert not read_sbatch(f"#!/bin/sh\n{line}\n#SBATCH -t 7\nsrun python x.py\n")["not_read"]
    late = "#!/bin/sh\nset -e\n#SBATCH -t 5\nsrun python x.py\n"
    assert read_sbatch(late)["not_read"] == "behind a command"
