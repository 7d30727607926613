"""Where does a test run?"""

import os

import jax
import pytest

PYTEST = os.getpid()  # of the process that imports this file


def here():
    own = os.getpid() == PYTEST
    where = "pytest's own process" if own else "a process forked for the test"
    me, n, devices = jax.process_index(), jax.process_count(), jax.devices()
    print(f"{where}: process {me} of {n}, devices: {len(devices)}")


def test_no_marker():
    here()


@pytest.mark.devices(8)
def test_eight_devices():
    here()


@pytest.mark.processes(2, devices=4)
def test_two_processes():
    here()
