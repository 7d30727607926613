#!/bin/sh
# sh by_hand.sh FIRST:PORT COUNT NUMBER PROGRAM …
# One process, started by hand on each of COUNT hosts; NUMBER counts from 0.
# FIRST is the name or the address of the host where NUMBER is 0.
# launch_arguments() reads these variables, JAX alone does not: a program
# without it takes them from os.environ and hands them to initialize.
if [ $# -lt 4 ]; then
  echo "by_hand.sh: FIRST:PORT COUNT NUMBER PROGRAM are needed, not $#." >&2
  exit 2
fi
export MINIPOD_COORDINATOR="$1" MINIPOD_PROCESSES="$2" MINIPOD_PROCESS="$3"
export PYTHONUNBUFFERED=1
shift 3

exec timeout -s ABRT -k 10 240 python -m minipod start "$@"
