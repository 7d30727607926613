"""`simulate` gives so many CPU devices, or says clearly why not. Each case in a process of its own."""

import os
import subprocess
import sys

import pytest

from minipod.devices import simulate


def python(code: str, **env: str) -> str:
    """The last line that a new Python prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "from minipod.devices import simulate\n" + code],
        capture_output=True,
        text=True,
        timeout=600,
        env={k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))} | env,
    )
    return (done.stdout + done.stderr).strip().splitlines()[-1]


COUNT = "import jax; print(jax.device_count(), jax.default_backend())"


@pytest.mark.parametrize("devices", [1, 3, 64])
def test_so_many_cpu_devices_are_there(devices: int):
    assert python(f"simulate({devices}); {COUNT}") == f"{devices} cpu"


@pytest.mark.parametrize(
    "env",
    [
        {"JAX_NUM_CPU_DEVICES": "2"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
        {"JAX_PLATFORMS": "cuda"},
    ],
)
def test_it_overrules_the_environment(env: dict[str, str]):
    assert python(f"import jax; simulate(); {COUNT}", **env) == "8 cpu"


def test_once_jax_has_started_it_says_so():
    assert python("import jax; jax.devices(); simulate(8)", JAX_PLATFORMS="cpu") == (
        "RuntimeError: JAX has already started with 1 cpu device: call minipod.devices.simulate(8) before anything "
        "that uses a device, in a new process"
    )


def test_asking_again_for_the_same_number_is_fine():
    assert python(f"simulate(4); import jax; jax.devices(); simulate(4); {COUNT}") == "4 cpu"


@pytest.mark.parametrize("devices", [0, -1, 1025])
def test_impossible_numbers_are_refused(devices: int):
    with pytest.raises(ValueError, match=rf"simulate\(devices={devices}\): between 1 and 1024"):
        simulate(devices)
