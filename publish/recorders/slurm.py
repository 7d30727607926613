"""Run a private Slurm: its real daemons on simulated hosts, without systemd and without changing this machine.

    with slurm.cluster() as here:  # one host with two nodes; hosts=2: a node on each of two hosts
        print(here.run("srun", "-n2", "hostname").stdout)

Tests and recordings use it to run the book's programs under the scheduler that clusters have. The daemons and all jobs
live in process namespaces that are held through a pipe, so they end with the block or with this process, however that
ends. There are two partitions, `main` and `urgent`, which preempts it; preempted jobs are requeued. There is no
accounting. Each node claims to have GPUS GPUs (copies of /dev/null). It needs Linux and root. See `man slurm.conf` and
`man gres.conf`.
"""

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from minipod.hosts import namespaces
from minipod.processes import Program, environment, kill_group

NEEDED = {"slurmctld": "slurm-wlm", "slurmd": "slurm-wlm", "srun": "slurm-wlm", "munged": "munge"}
CPUS, GPUS = 8, 8  # that each node claims to have, whatever this machine has
START = 60.0  # seconds within which all nodes must be idle
ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT")

_CONF = """ClusterName=minipod
SlurmctldHost=host0({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdParameters=config_overrides
KillWait=5
MessageTimeout=20
SlurmdTimeout=60
UnkillableStepTimeout=30
{nodes}
PartitionName=main Nodes={names} Default=YES MaxTime=60 State=UP PriorityTier=1 GraceTime={grace}
PartitionName=urgent Nodes={names} MaxTime=60 State=UP PriorityTier=2
"""


@dataclass(frozen=True)
class Slurm:
    """A running Slurm. `nodes` are its nodes' names; `folder` has its logs and is removed when it ends."""

    nodes: tuple[str, ...]
    folder: Path
    pids: tuple[int, ...]  # of the process that holds each host's processes

    def run(
        self, *command: str | os.PathLike[str], limit: float = 60.0, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, such as srun or sbatch, on the first host, in the current folder.

        Return its output and exit code. env: its whole environment (default: ours). After `limit` seconds, the command
        is ended and subprocess.TimeoutExpired raised; a job that it submitted goes on.
        """
        process = self.start(*command, env=env)
        try:
            out, err = process.communicate(timeout=limit)
        finally:
            kill_group(process.pid)
            process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def start(self, *command: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start a command and do not wait: it leads a process group of its own, and ends with the cluster."""
        pid = self.pids[0]
        place = ["--net", "--uts", "--mount", f"--pid=/proc/{pid}/ns/pid_for_children", f"--wdns={os.getcwd()}"]
        whole = {**(os.environ if env is None else env), "SLURM_CONF": str(self.folder / "slurm.conf")}
        whole["PATH"] = environment.search_path(whole)
        output = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        enter = ["nsenter", f"--target={pid}", *place]
        return subprocess.Popen([*enter, *map(str, command)], env=whole, start_new_session=True, **output)

    def submit(self, *command: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> int:
        """Run `sbatch` with these arguments and return the job's number. Raises RuntimeError with sbatch's message."""
        done = self.run("sbatch", "--parsable", *command, env=env)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return int(done.stdout.partition(";")[0])

    def job(self, number: int) -> dict[str, str]:
        """Return what `scontrol show job` prints: JobState, Reason, Restarts, ExitCode, … Empty for an unknown job."""
        line = self.run("scontrol", "--oneliner", "show", "job", str(number)).stdout
        return dict(part.split("=", 1) for part in line.split() if "=" in part)

    def wait(self, number: int, seconds: float = 600.0) -> dict[str, str]:
        """Wait until a job has ended and return its `job`. Raises TimeoutError, with its state, after `seconds`."""
        end = time.monotonic() + seconds
        while (job := self.job(number)).get("JobState") not in ENDED:
            if time.monotonic() > end:
                raise TimeoutError(f"job {number} is {job.get('JobState', 'unknown')} ({job.get('Reason')}), not ended")
            time.sleep(0.1)
        return job


def why_not() -> str | None:
    """Return why no Slurm can be started on this machine, in one sentence; None if one can."""
    if sys.platform != "linux":
        return "Slurm's daemons run only on Linux"
    for command, package in NEEDED.items():
        if shutil.which(command, path=environment.search_path()) is None:
            return f"Slurm needs the command {command}, which is missing here: install {package}"
    if os.geteuid():
        return "Slurm's daemons need root here"
    return namespaces.why_not()


@contextlib.contextmanager
def cluster(hosts: int = 1, grace: int = 30) -> Iterator[Slurm]:
    """Yield a Slurm with all nodes idle: two on one host (node0, node1) or, if `hosts` > 1, one per host (host0, …).

    grace: seconds from the signal that announces a job's preemption to its end. The Slurm ends with the block.
    Raises PermissionError if none can run here, RuntimeError if a daemon does not start; each in one sentence.
    """
    if reason := why_not():
        raise PermissionError(reason)
    here = {"node0": 0, "node1": 0} if hosts == 1 else {f"host{i}": i for i in range(hosts)}
    folder = Path(tempfile.mkdtemp(prefix="minipod-slurm-"))
    with contextlib.ExitStack() as held:
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        _write(folder, here, grace)
        pids = []
        for host, pid in enumerate(held.enter_context(namespaces.hosts(hosts, None, 0.0))):
            mine = [name for name, where in here.items() if where == host]
            pids.append(held.enter_context(_keep(pid, folder, _script(folder, host, mine))))
        slurm = Slurm(tuple(here), folder, tuple(pids))
        _wait_until_idle(slurm)
        yield slurm


def _write(folder: Path, nodes: Mapping[str, int], grace: int) -> None:
    """Write the daemons' configuration and make the folders in which they write. nodes: name → number of its host."""
    address = namespaces.ADDRESS.format
    lines = "\n".join(
        f"NodeName={name} NodeHostname=host{host} NodeAddr={address(host + 1)} Port={6820 + i} CPUs={CPUS} "
        f"Gres=gpu:{GPUS} State=UNKNOWN"
        for i, (name, host) in enumerate(nodes.items())
    )
    conf = _CONF.format(folder=folder, address=address(1), nodes=lines, names=",".join(nodes), grace=grace)
    folder.chmod(0o755)  # munge requires that all users can reach its socket
    (folder / "slurm.conf").write_text(conf)
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-{GPUS - 1}]\n")
    for name in ("state", *(f"spool-{name}" for name in nodes)):
        (folder / name).mkdir()
    for i in range(GPUS):
        os.mknod(folder / f"gpu{i}", stat.S_IFCHR | 0o600, os.makedev(1, 3))  # Slurm checks that it is a device
    (folder / "munge.key").touch(mode=0o600)
    (folder / "munge.key").write_bytes(os.urandom(128))


def _script(folder: Path, host: int, nodes: Sequence[str]) -> str:
    """Return the script of the first process in a host's process namespace: start the daemons, wait for the pipe's end.

    The process adopts and reaps orphans there. At the end it kills all others in the namespace, which would write into
    the folder while it is removed; those of another host may do so a moment longer.
    """
    known = f"{folder}/etc-hosts-{host}"
    munged = (
        f"munged --key-file={folder}/munge.key --socket={folder}/munge.socket --pid-file={folder}/munged.pid "
        f"--log-file={folder}/munged.log --seed-file={folder}/munge.seed"
    )
    first = f"echo {namespaces.ADDRESS.format(1)} {' '.join(nodes)} >>{known}; {munged}; slurmctld -c; "
    return (
        f"exec 2>&1; cp /etc/hosts {known}; mount --bind {known} /etc/hosts; {first if host == 0 else ''}"
        f"{'; '.join(f'slurmd -N {name}' for name in nodes)}; echo ready; cat >/dev/null; "
        f"kill -KILL -1 || :; for _ in $(seq 50); do rm -rf {folder} && break; sleep 0.1; done"
    )


@contextlib.contextmanager
def _keep(host: int, folder: Path, script: str) -> Iterator[int]:
    """Run `script` in its own process namespace on the host held by `host`; yield the pid that made the namespace.

    The script ends with the block, or with this process.
    """
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-ec", script]
    env = {**os.environ, "PATH": environment.search_path(), "SLURM_CONF": f"{folder}/slurm.conf"}
    program = Program([*namespaces.enter(host, *namespaces.OWN), *unshare], stdout=subprocess.PIPE, env=env)
    assert program.stdout
    try:
        lines = []
        while (line := program.stdout.readline().decode(errors="replace")) not in ("ready\n", ""):
            lines.append(line.strip())
        if not line:
            raise RuntimeError(f"Slurm did not start: {'; '.join(lines) or 'its daemons said nothing'}")
        yield program.pid
    finally:
        program.end(namespaces.PATIENCE)
        program.stdout.close()


def _wait_until_idle(slurm: Slurm) -> None:
    """Wait until all nodes are idle. Raises RuntimeError with their states if they are not idle in time."""
    end = time.monotonic() + START
    while (states := slurm.run("sinfo", "-h", "-N", "-p", "main", "-o", "%t").stdout.split()) != ["idle"] * len(
        slurm.nodes
    ):
        if time.monotonic() > end:
            raise RuntimeError(f"Slurm did not start within {START:g} s: its nodes are {states or 'unknown'}")
        time.sleep(0.05)
