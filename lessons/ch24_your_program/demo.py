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
import textwrap
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
    env["COLUMNS"] = "78"
    done = subprocess.run(
        [*command, *words], env=env, capture_output=True, text=True
    )
    said = re.sub(r"=+ (?=\d)| in [\d.]+s.*", "", done.stdout)
    for line in said.replace(f"{os.getcwd()}/", "").splitlines():
        if line.strip() and (not keep or any(k in line for k in keep)):
            print(*textwrap.wrap(line, 78), sep="\n    ")


# %% where
pytest("-s", "test_where.py", keep=["process", "passed"])

# %% as-one
pytest("test_step.py", "-k", "as_one", keep=["passed"])


# %% one-fails
def commit(*changes):
    """train.py as it was, with each (old, new) of these changes."""
    text = program
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path("train.py").write_text(text)


commit(("default_rng(i)", "default_rng(i + jax.process_index())"))
words = ["_ test", "Mismatched", "[0, 0]", "this was", "process 0:"]
pytest("test_two.py", "-k", "rows", "--tb=short", keep=words)

# %% budgets
commit()
pytest("test_step.py", keep=["passed"])

# %% doubled
one_sum = """
        value, g = lax.pmean(jax.value_and_grad(loss)(w, x), "data")
"""
two_sums = """
        def half(x):
            return lax.pmean(jax.value_and_grad(loss)(w, x), "data")

        both = lax.map(half, x.reshape(2, -1, 16))
        value, g = jax.tree.map(lambda v: v.mean(0), both)
"""
commit((one_sum, two_sums))
pytest("test_step.py", "-k", "as_one", keep=["passed"])
pytest("test_step.py", "-k", "not as_one", "--tb=short", keep=["_ test", "E  "])

# %% written
commit()
pytest("test_plans.py", "--update-plans", keep=["passed"])
print(Path("plans/test_plans.json").read_text(), end="")

# %% caught
commit((one_sum, two_sums))
pytest("test_plans.py", "--tb=line", keep=["E  ", "→", "failed"])

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
pytest("test_two.py", "-k", "copies", "--tb=line", keep=["E   Value", "P() "])

# %% drifting
commit(*mean, ("mesh=mesh, **", "mesh=mesh, check_vma=False, **"))
pytest("test_step.py", "-k", "as_one", keep=["passed"])
pytest("test_two.py", "-k", "copies", "--tb=line", keep=["E  ", "failed"])

# %% killed
commit()
pytest("test_two.py", "-k", "checkpoint", keep=["passed"])

# %% data-again
commit(("rows(i, mesh))", "rows(i - first, mesh))"))
pytest("test_two.py", "-k", "checkpoint", keep=["Mismatched", "[0]", "failed"])

# %% pod
commit()
shutil.copy(lesson / "plans.json", ".")  # for those without libtpu
pytest("test_pod.py", "--update-plans", keep=["passed"])
print(Path("plans/test_pod.json").read_text(), end="")

# %% workflow-file
print((lesson / "tests.yml").read_text(), end="")

# %% comment
there = Path("repository").absolute()
shutil.rmtree(there, ignore_errors=True)  # an earlier reading of this page


def git(*words):
    author = ["-c", "user.name=you", "-c", "user.email=you@example.com"]
    subprocess.run(["git", *author, *words], cwd=there, check=True)


shutil.copytree("plans", there / "plans")
git("init", "--quiet")
git("add", "plans")
git("commit", "--quiet", "--message", "before")
commit((one_sum, two_sums))
pytest("test_plans.py", "--update-plans", keep=["passed"])
shutil.copytree("plans", there / "plans", dirs_exist_ok=True)
git("commit", "--quiet", "--all", "--message", "two halves")
said = subprocess.run(
    [sys.executable, Path("figures.py").absolute(), "HEAD~1"],
    cwd=there, capture_output=True, text=True, check=True,
)  # fmt: skip
print(said.stdout, end="")

# %% theirs
import json

plan = json.loads((root / "lessons/ch20_serving/theirs.json").read_text())
theirs = plan["plans"]["theirs_plan.py"]
for axis, sent in theirs["sent"].items():
    print(f"sent along {axis}: {sent:,}")
for name in "arguments", "temporaries":
    print(f"{name}: {theirs['memory'][name]:,}")
print(f"FLOPs: {theirs['flops']:,}; fits: {theirs['fits']}")
