"""A file of tests in a folder of its own, run with the pytest plug-in as a stranger would, and what pytest prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

from still_running import running_with

ROOT = Path(__file__).parents[2]
HEAD = """
import os, time
import jax, jax.numpy as jnp, numpy as np, pytest
from jax import P, lax
from jax.experimental import multihost_utils
from minipod.testing import *

def rows(n=8):
    at = jax.NamedSharding(jax.make_mesh((jax.device_count(),), ("i",)), P("i"))
    return jax.make_array_from_callback((n,), at, lambda i: np.arange(float(n))[i])

def total(x):
    return jax.jit(jax.shard_map(lambda x: lax.psum(x, "i"), mesh=x.sharding.mesh, in_specs=P("i"), out_specs=P()))(x)
"""


def run(folder: Path, tests: str, *options: str) -> tuple[str, dict[str, str]]:
    """What pytest prints, and each test's outcome by name."""
    (folder / "test_it.py").write_text(HEAD + tests)
    own = ["-p", "minipod.testing.plugin", "-p", "no:cacheprovider", "-rA", "--basetemp", str(folder / "base")]
    own += ["-p", "xdist"] if "-n" in options else []
    command = [sys.executable, "-m", "pytest", *own, *options, str(folder / "test_it.py")]
    env = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert running_with(str(folder)) == []
    found = re.findall(r"^(PASSED|FAILED|XFAIL|ERROR) \S+?::(\S+)", done.stdout, re.MULTILINE)
    return done.stdout + done.stderr, {name: outcome for outcome, name in found}
