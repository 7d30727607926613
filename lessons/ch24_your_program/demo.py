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

# %% begin
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import minipod

root = Path(minipod.__file__).parents[1]
lesson = root / "lessons/ch24_your_program"
names = "train test_where test_step test_plans test_two test_pod figures"
for name in names.split():
    shutil.copy(lesson / f"{name}.py", ".")
program = Path("train.py").read_text()
shutil.rmtree("plans", ignore_errors=True)  # an earlier reading of this page

# %% one-line
Path("conftest.py").write_text('pytest_plugins = ["minipod.testing.plugin"]\n')
Path("pytest.ini").write_text("[pytest]\n")  # this folder is a project


def pytest(*words, keep=()):
    """Run it as one does in a terminal; print what it prints, but for times
    and folders. keep: lines without one of these are left out."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    env = {"PATH": os.environ["PATH"], "JAX_PLATFORMS": "cpu"}
    env |= {"PYTHONPATH": str(root), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, *words], env=env, capture_output=True, text=True
    )
    said = re.sub(r" in [\d.]+s.*|(?m:^.*[-=] short test .*$)", "", done.stdout)
    for line in said.replace(f"{os.getcwd()}/", "").splitlines():
        if line.strip() and (not keep or any(k in line for k in keep)):
            print(line[:100])


# %% where
pytest("-s", "test_where.py", keep=["process", "passed"])

# %% as-one
pytest("test_step.py", "-k", "as_one")


# %% one-fails
def commit(*changes):
    """train.py as it was, with each (old, new) of these changes."""
    text = program
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path("train.py").write_text(text)


commit(("default_rng(i)", "default_rng(i + jax.process_index())"))
pytest("test_two.py", "-k", "rows", "--tb=short")

# %% budgets
commit()
pytest("test_step.py", "-v", keep=["::", "passed"])

# %% doubled
commit(
    (
        '        value, g = lax.pmean(jax.value_and_grad(loss)(w, x), "data")',
        """
        def half(x):
            return lax.pmean(jax.value_and_grad(loss)(w, x), "data")

        both = lax.map(half, x.reshape(2, -1, 16))
        value, g = jax.tree.map(lambda v: v.mean(0), both)""",
    )
)
pytest("test_step.py", "--tb=short")

# %% written
commit()
pytest("test_plans.py", "--update-plans")
print(Path("plans/test_plans.json").read_text(), end="")

# %% caught
shutil.copy("train.py", "as_it_was.py")
commit(
    (
        '        value, g = lax.pmean(jax.value_and_grad(loss)(w, x), "data")',
        """
        def half(x):
            return lax.pmean(jax.value_and_grad(loss)(w, x), "data")

        both = lax.map(half, x.reshape(2, -1, 16))
        value, g = jax.tree.map(lambda v: v.mean(0), both)""",
    )
)
pytest("test_plans.py", "--tb=line")

# %% refused
mean = [
    ("jnp.zeros_like, w)}", 'jnp.zeros_like, w), "mean": jnp.zeros(16)}'),
    (
        "        return update(state, g), value",
        """        new = update(state, g)
        new["mean"] = 0.9 * state["mean"] + 0.1 * x.mean(0)
        return new, value""",
    ),
]
commit(*mean)
pytest("test_two.py", "-k", "copies", "--tb=line")

# %% drifting
commit(*mean, ("mesh=mesh, **", "mesh=mesh, check_vma=False, **"))
pytest("test_step.py", "-k", "as_one")
pytest("test_two.py", "-k", "copies", "--tb=line")

# %% killed
commit()
pytest("test_two.py", "-k", "checkpoint", "-v", keep=["::", "passed"])

# %% data-again
commit(("rows(i, mesh))", "rows(i - first, mesh))"))
pytest("test_two.py", "-k", "checkpoint", "--tb=short", keep=["E  "])

# %% pod
commit()
pytest("test_pod.py", "--update-plans")
print(Path("plans/test_pod.json").read_text(), end="")

# %% pod-held
pytest("test_pod.py")
