#!/bin/bash
# TPU=name ZONE=us-west4-a bash tpu_vm.sh PROGRAM …
# Copies the program to every host of a TPU slice and starts it on all at once:
# a process a host. JAX learns the rest from the metadata of the hosts. PYTHON:
# the interpreter there that has JAX, for the image's own may be too old.
set -e
: "${TPU:?the name of the TPU}" "${ZONE:?its zone}"

gcloud compute tpus tpu-vm scp "$1" "$TPU:" --zone="$ZONE" --worker=all
printf -v program ' %q' "$(basename "$1")" "${@:2}"
python="${PYTHON:-python3} -X faulthandler -u"
gcloud compute tpus tpu-vm ssh "$TPU" --zone="$ZONE" --worker=all \
  --command="timeout -s ABRT -k 10 3500 $python$program"
