# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# A script leaves nothing behind: it runs in a folder that goes when it ends.
import atexit
import os
import shutil
import tempfile

os.chdir(scratch := tempfile.mkdtemp())
atexit.register(shutil.rmtree, scratch, ignore_errors=True)

# %% what-srun-sets
from lessons.ch14_launching import detect

for name, value in detect.MADE_UP["srun"].items():
    print(f"{name}={value}")

detect.asked(detect.MADE_UP["srun"])[0]

# %% picture-launch
from lessons.ch14_launching.draw_launch import launch

each = []
for i in range(4):  # two on each of two hosts
    said = {"SLURM_NTASKS": "4", "SLURM_PROCID": str(i)}
    each.append(detect.MADE_UP["srun"] | said | {"SLURM_LOCALID": str(i % 2)})

answers = detect.asked(*each)
for i, answer in enumerate(answers):
    answer["host"] = f"node0{i // 2 + 1}"
launch("srun", "hello.py", answers)

# %% order
for name, on_request in detect.order():
    print(f"{name:12}", "only on request" if on_request else "")

# %% what-jax-takes
answers = detect.asked(*detect.MADE_UP.values())
for launcher, a in zip(detect.MADE_UP, answers, strict=True):
    who = f"{a['process_id']} of {a['num_processes']} at"
    place = f"{who} {a['coordinator_address']}" if a["detector"] else ""
    found = a["detector"] or "none"
    print(f"{launcher:17}{found:8}{a.get('error', place)}")

# %% nobody
import jax

from minipod.expect import expect_error

with expect_error(ValueError, "coordinator_address should be defined"):
    jax.distributed.initialize()

# %% two-launchers
slurms = {"1": detect.MADE_UP["the batch script"], "5": detect.HELPER}
for mpi in ("Open MPI 4", "Open MPI 5"):
    for rank, left in slurms.items():  # on the first host, on the second
        mpis = detect.MADE_UP[mpi] | {"OMPI_COMM_WORLD_RANK": rank}
        (a,) = detect.asked(left | mpis)
        place = f"{a['detector']} {a['process_id']} of {a['num_processes']}"
        place = a.get("error", place) if a["detector"] else "none"
        print(f"{mpi}, process {rank}:", place)

# %% sbatch-file
from pathlib import Path

import minipod

lesson = Path(minipod.__file__).parents[1] / "lessons" / "ch14_launching"
print((lesson / "two_processes.sbatch").read_text(), end="")

# %% under-slurm
from lessons.ch14_launching import launched

launched.versions()
launched.outputs("Slurm, two hosts", "hello")

# %% with-kill
launched.fault("one dies, with -K1")

# %% without-kill
launched.fault("one dies, without -K1")

# %% slurm-says
launched.fault("wrong partition")
launched.fault("Slurm is down")

# %% mpirun-file
print((lesson / "two_processes.mpirun.sh").read_text(), end="")

# %% tpu-vm-file
print((lesson / "tpu_vm.sh").read_text(), end="")

# %% jobset-file
print((lesson / "jobset.yaml").read_text(), end="")

# %% gpu-jobset-file
print((lesson / "gpu_jobset.yaml").read_text(), end="")

# %% tpu-hosts
from minipod import pictures, pods

devices = pods.devices("v5e:4x4")
for d in devices[:4]:
    print(d.id, "is of process", d.process_index, "and lies at", d.coords)
pictures.devices(devices)

# %% one-a-host
launched.assumed("srun --nodes=2 --ntasks-per-node=1 --gpus-per-node=8")

# %% seven-idle
task = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_NODELIST": "localhost",
    "SLURM_NTASKS": "1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}
print(detect.started("visible.py", task).stdout, end="")

# %% all-eight
task["JAX_LOCAL_DEVICE_IDS"] = "0,1,2,3,4,5,6,7"
print(detect.started("visible.py", task).stdout, end="")

# %% per-host-file
print((lesson / "one_per_host.sbatch").read_text(), end="")

# %% per-gpu-file
print((lesson / "one_per_gpu.sbatch").read_text(), end="")

# %% gpus-per-task
launched.assumed("srun --nodes=2 --ntasks-per-node=2 --gpus-per-task=1")

# %% gpu-box-file
print((lesson / "gpu_box.sh").read_text(), end="")

# %% by-hand-file
print((lesson / "by_hand.sh").read_text(), end="")

# %% everywhere
launched.versions()
launched.table()

# %% how-it-ends
import inspect

from minipod.cluster import member

print(inspect.getsource(member.start))
print(inspect.getsource(member.leave))

# %% failing
launched.failing()

# %% reasons
launched.reasons()

# %% slurm-ends
launched.slurm_ends()

# %% unknown-name
launched.fault("unknown name, JAX alone")
launched.fault("unknown name", lines=2)

# %% ports
srun = detect.MADE_UP["srun"]
jobs = (4711, 4712, 4711 + 2**12)
answers = detect.asked(*(srun | {"SLURM_JOB_ID": str(job)} for job in jobs))
for job, answer in zip(jobs, answers, strict=True):
    print("job", job, "listens on", answer["coordinator_address"])

# %% ports-chosen
first, second = {"SLURM_STEP_ID": "0"}, {"SLURM_STEP_ID": "1"}
chosen = {"JAX_COORDINATOR_PORT": "7777"}
for also in first, second, second | chosen:
    (answer,) = detect.asked(srun | also)
    print(answer["coordinator_address"], also)

# %% port-taken
launched.tries("port taken, JAX alone")
launched.fault("port taken", lines=1)

# %% buffered
for options in ((), ("-u",)):
    done = detect.started("dies_with_lines.py", {}, *options)
    print("python", *options, "ends with", done.returncode, end=", ")
    print(len(done.stdout), "bytes in the log")

# %% wrong-launcher
launched.fault("two launchers, JAX alone")
launched.fault("two launchers", lines=2)

# %% sum-by-jax
from minipod.cluster import run

run("sum_jax.py", processes=2, devices=4)

# %% sum-by-mpi
from lessons.ch14_launching import neighbours

neighbours.recorded("sum_mpi.py", "mpi4jax", "jax", "Open MPI")

# %% sum-by-rpc
from minipod.processes import free_port

address = f"127.0.0.1:{free_port()}"
run("sum_rpc.py", address, processes=2, devices=4)

# %% step-by-jax
run("step_plain.py", processes=2, devices=4)

# %% step-by-nnx
neighbours.recorded("step_nnx.py", "flax", "jax")

# %% step-by-haiku
neighbours.recorded("step_haiku.py", "dm-haiku", "jax")

# %% same-loss
printed = neighbours.printed("step_plain.py", "step_nnx.py", "step_haiku.py")
print("the same, to the last digit:", len(set(printed)) == 1)
