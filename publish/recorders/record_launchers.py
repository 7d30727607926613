"""Record chapter 14's launchers: launched.json, in ten minutes.

record_launchers.py [programs] [assumed] [faults]: five programs of chapter 10 under each launcher, what JAX takes from
each launcher's variables, and what goes wrong; without arguments, all three.
"""

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minipod.processes import kill_group
from publish.recorders import LESSONS, launchers, save, slurm, today
from publish.recorders import versions as installed
from publish.recorders.launchers import HERE, first_line

LESSON = LESSONS / "ch10_processes"
TRIES = 6
PROGRAMS = ("hello", "all_sum", "psum_pmap", "psum_shard_map", "print_global")


def versions(prefix: Path) -> dict[str, str]:
    """Return the versions of everything that took part, with the date and the load."""
    mpi4 = first_line("mpirun", "--version")
    mpi5 = first_line(str(prefix / "bin/mpirun"), "--version")
    return {
        "date": today(),
        "JAX": installed("jax")["jax"],
        "Python": platform.python_version(),
        "Slurm": first_line("slurmd", "-V").split()[-1],
        "Open MPI 4": mpi4.split()[-1],
        "Open MPI 5": mpi5.split()[-1],
        "load before": f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        "Linux": platform.release().partition("-")[0],
    }


def programs(prefix: Path) -> dict[str, dict[str, Any]]:
    """Return {launcher: {program: what each process printed, and the seconds}}."""
    printed: dict[str, dict[str, Any]] = {}
    for name, run in launchers.launchers(prefix).items():
        printed[name] = {}
        for program in PROGRAMS:
            done = run(str(LESSON / f"{program}.py"))
            if not done.ok:
                raise SystemExit(f"{program}, {name}: {done.first_failure}")
            seconds = round(done.seconds, 1)
            printed[name][program] = {"outputs": done.outputs, "seconds": seconds}
            print(name, program, seconds, flush=True)
    return printed


def assumed(prefix: Path) -> dict[str, Any]:
    """Return {launcher: for each process, its variables and what JAX takes from them}.

    Slurm starts one process on each of two nodes, then two, as with one process per GPU.
    """
    look = ["python", str(HERE / "assumed.py")]
    env = launchers.environment()
    answers = {}
    with slurm.cluster(hosts=2) as here:
        for options in (
            "--nodes=2 --ntasks-per-node=1 --gpus-per-node=8",
            "--nodes=2 --ntasks-per-node=2 --gpus-per-node=2",
            "--nodes=2 --ntasks-per-node=2 --gpus-per-task=1",
        ):
            done = here.run("srun", *options.split(), *look, env=env)
            answers[f"srun {options}"] = _json_lines(done.stdout)
    for name, installed_in in (("Open MPI 4", None), ("Open MPI 5", prefix)):
        done = launchers.with_mpi(["mpirun", "-n", "2", *look], installed_in)
        answers[f"mpirun -n 2 ({name})"] = _json_lines(done.stdout)
    return answers


def faults(prefix: Path) -> dict[str, Any]:
    """Return {what is wrong: the command, its exit code, the seconds, what was printed}."""
    env = launchers.environment()
    env |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "4"}
    bare = {**env, "JAX_INITIALIZATION": "20"}
    hello = ["python", str(LESSON / "hello.py")]
    jax_alone = ["python", str(HERE / "jax_alone.py")]
    dies = ["python", str(HERE / "one_dies.py")]
    srun = ["srun", "--nodes=2", "--label", "timeout", "-k", "5", "90"]
    kill = ["srun", "--kill-on-bad-exit=1", *srun[1:]]
    stale = {"OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.77.0.1:34911"}
    stale |= {f"OMPI_COMM_WORLD_{name}": "0" for name in ("RANK", "LOCAL_RANK")}
    stale |= {"OMPI_COMM_WORLD_SIZE": "2"}
    proxy = {"http_proxy": "http://127.0.0.1:9"}
    unknown = {"JAX_COORDINATOR_ADDRESS": "nowhere:7777"}
    away = {"JAX_COORDINATOR_ADDRESS": "host1:7777"}
    port = {"JAX_COORDINATOR_PORT": "7777"}
    plain = {"PYTHONUNBUFFERED": ""}
    results: dict[str, Any] = {}
    with slurm.cluster(hosts=2) as here:

        def note(name: str, *command: str, **more: Any) -> None:
            began = time.monotonic()
            done = here.run(*command, limit=launchers.LIMIT, **more)
            results[name] = {
                "command": _short(command),
                "code": done.returncode,
                "seconds": round(time.monotonic() - began, 1),
                "said": _short_lines(done.stdout + done.stderr),
            }
            print(name, results[name]["seconds"], flush=True)

        batch = ["sbatch", str(HERE / "two_processes.sbatch"), hello[1]]
        note("wrong partition", batch[0], "--partition=gpus", *batch[1:])
        note("proxy, JAX alone", *kill, *jax_alone, env=bare | proxy)
        note("proxy", *kill, *hello, env=env | proxy)
        note("unknown name, JAX alone", *kill, *jax_alone, env=bare | unknown)
        note("unknown name", *kill, *hello, env=env | unknown)
        note("coordinator elsewhere", *kill, *hello, env=env | away)
        note("two launchers, JAX alone", *kill, *jax_alone, env=bare | stale)
        note("two launchers", *kill, *hello, env=env | stale)
        listen = ["python", str(HERE / "other_job.py"), "7777"]
        # gRPC lets two listen on one port, and the kernel deals out who is
        # connected to whom: JAX alone is tried several times
        name, tries = "port taken, JAX alone", []
        for _ in range(TRIES):
            with _beside(here, listen, env) as other:
                note(name, *srun, *jax_alone, env=bare | port)
                tries.append((results[name]["code"], other.poll() is None))
        results[name]["tries"] = {
            "both jobs run": sum(not c and alive for c, alive in tries),
            "the new job fails": sum(c != 0 and alive for c, alive in tries),
            "the other job ends": sum(not alive for _, alive in tries),
        }
        with _beside(here, listen, env) as other:
            note("port taken", *kill, *hello, env=env | port)
            alive = other.poll() is None
            results["port taken"]["the other job"] = "runs on" if alive else "ends"
        note("one dies, with -K1", *kill, *dies, env=env | plain)
        note("one dies, without -K1", *srun, *dies, env=env | plain)
        logs = ["--output=%t.log", *srun[1:]]
        for name, unbuffered in (("buffered", ""), ("unbuffered", "1")):
            note(f"a survivor's log, {name}", "srun", *logs, *dies, env=env | {"PYTHONUNBUFFERED": unbuffered})
            log = Path("0.log").read_text("utf-8")
            results[f"a survivor's log, {name}"]["log"] = _short_lines(log)
        here.run("pkill", "-x", "slurmctld")
        note("Slurm is down", *srun, "hostname")
    for name, installed_in in (("Open MPI 4", None), ("Open MPI 5", prefix)):
        began, command = time.monotonic(), ["mpirun", "-n", "99", "hostname"]
        done = launchers.with_mpi(command, installed_in, crowd=False)
        results[f"no slots, {name}"] = {
            "command": " ".join(command),
            "code": done.returncode,
            "seconds": round(time.monotonic() - began, 1),
            "said": _short_lines(done.stdout + done.stderr),
        }
    return results


@contextlib.contextmanager
def _beside(here: slurm.Slurm, command: list[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run another job at the same time as ours; the block begins when it has printed that it is up."""
    other = here.start(*command, env=env)
    try:
        assert other.stdout
        other.stdout.readline()
        yield other
    finally:
        kill_group(other.pid)
        other.communicate()


def _json_lines(text: str) -> list[dict[str, Any]]:
    answers = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return sorted(answers, key=lambda answer: answer["process"])


def _short(command: tuple[str, ...]) -> str:
    """Return a command without our folders."""
    return " ".join(command).replace(f"{HERE}/", "").replace(f"{LESSON}/", "")


def _short_lines(text: str) -> list[str]:
    """Return the lines of a text without C++ stacks, our folders, and Gloo's lines."""
    kept = []
    for line in text.splitlines():
        if " @   " in line or "[Gloo]" in line or not line.strip(" :0123"):
            continue
        for folder in (f"{HERE}/", f"{LESSON}/", f"{os.getcwd()}/"):
            line = line.replace(folder, "")
        kept.append(line[:400])
    return kept


def main() -> None:
    """Record everything, or only the parts that are named: programs, assumed, faults."""
    if reason := slurm.why_not() or launchers.why_no_mpirun_4():
        raise SystemExit(reason)
    file = HERE / "launched.json"
    recorded = json.loads(file.read_text("utf-8")) if file.exists() else {}
    parts = {"programs": programs, "assumed": assumed, "faults": faults}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        prefix = launchers.install_open_mpi_5(Path(folder))
        recorded["versions"] = versions(prefix)
        for name in sys.argv[1:] or parts:
            recorded[name] = parts[name](prefix)
        os.chdir(HERE)
    save(file, recorded)


if __name__ == "__main__":
    main()
