#!/bin/sh
# TPU=name ZONE=us-west4-a sh tpu_vm.sh PROGRAM …
# Copies the program to every host of a TPU slice and starts it on all at once:
# a process a host. JAX learns the rest from the metadata of the hosts.
set -e
: "${TPU:?the name of the TPU}" "${ZONE:?its zone}"

gcloud compute tpus tpu-vm scp "$1" "$TPU:" --zone="$ZONE" --worker=all
program=$(basename "$1")
shift
gcloud compute tpus tpu-vm ssh "$TPU" --zone="$ZONE" --worker=all \
  --command="timeout -k 10 3500 python3 -u $program $*"
