#!/bin/sh
# sh two_processes.mpirun.sh PROGRAM …
# Two processes with four CPU devices each, under Open MPI 4 or 5. Here; with
# HOSTS=first,second one on each of these, which mpirun reaches by ssh.
# When a process fails, mpirun ends the others; after 240 s it ends all.
export JAX_PLATFORMS=cpu JAX_NUM_CPU_DEVICES=4
export PYTHONUNBUFFERED=1

exec mpirun -n 2 ${HOSTS:+--host "$HOSTS"} --tag-output --timeout 240 \
  -x JAX_PLATFORMS -x JAX_NUM_CPU_DEVICES -x PYTHONUNBUFFERED \
  python -m minipod start "$@"
