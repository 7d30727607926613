"""`simulate` gives so many CPU devices, or says clearly why not."""

import os
import subprocess
import sys

import pytest

from minipod.devices import simulate


def test_so_many_cpu_devices_are_there_whatever_the_environment_says_and_once_jax_has_started_no_others():
    code = (
        "from minipod.devices import simulate\nimport jax\nsimulate(3)\n"
        "print(jax.device_count(), jax.default_backend())\nsimulate(3)\nsimulate()\n"
    )
    bent = {"JAX_NUM_CPU_DEVICES": "2", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    bent |= {"JAX_PLATFORMS": "cuda"}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | bent)
    assert done.stdout == "3 cpu\n" and done.stderr.splitlines()[-1] == (
        "RuntimeError: JAX has already started with 3 cpu devices: call minipod.devices.simulate(8) first, in a new "
        "process"
    )


def test_impossible_numbers_are_refused():
    for devices in (0, 1025):
        with pytest.raises(ValueError, match=rf"simulate\(devices={devices}\): choose between 1 and 1024"):
            simulate(devices)
