#!/bin/bash
# bash gpu_box.sh PROGRAM …
# One machine, a process for each of its GPUs; what process 0 prints is in
# 0.log, and so on. When one fails, all end. launch_arguments() reads these
# variables, JAX alone does not: a program without it takes them from
# os.environ and hands them to initialize.
gpus=${GPUS:-$(nvidia-smi --list-gpus 2>/dev/null | grep -c '^GPU ')}
if ! [[ $gpus =~ ^[1-9][0-9]*$ ]]; then
  echo "gpu_box.sh: neither nvidia-smi nor GPUS says that there is a GPU." >&2
  exit 2
fi
export MINIPOD_COORDINATOR=127.0.0.1:${PORT:-29500} MINIPOD_PROCESSES=$gpus
export PYTHONUNBUFFERED=1

pids=()
end() { # SIGKILL, since a process that hangs in JAX survives less
  for pid in "${pids[@]}"; do kill -KILL -- "-$pid"; done 2>/dev/null
  exit "$1"
}
trap 'end 130' INT TERM

for ((i = 0; i < gpus; i++)); do
  MINIPOD_PROCESS=$i JAX_LOCAL_DEVICE_IDS=$i \
    timeout -s ABRT -k 10 240 python -m minipod start "$@" >"$i.log" 2>&1 &
  pids+=($!) # timeout leads a process group of this number
done
for ((i = 0; i < gpus; i++)); do
  wait -n || end $? # the first that fails
done
