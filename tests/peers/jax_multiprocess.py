"""JAX's own multi-process tests, under our pytest plug-in and under JAX's own launcher: is each verdict the same?

python tests/peers/jax_multiprocess.py COPY, with a clone of github.com/jax-ml/jax, after `pip install absl-py`

Prints what differs, a line each, and exits with 1 where something does that is not in DIFFERENT. Their tests want
absl-py, which JAX's test suite brings. A run takes about ten minutes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
CONFTEST = """
import jax  # noqa: F401
import pytest
from absl import flags
from jax._src import test_multiprocess, test_util  # noqa: F401  they define the flags

pytest_plugins = ["minipod.testing.plugin"]


def pytest_configure(config):
    flags.FLAGS(["pytest", "--num_processes=2"])


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.processes(2, devices=4, seconds=60))
"""
# Test, or all of a file, and why its verdict may be another.
DIFFERENT = {
    "device_id_test.DeviceIdTest.testDeviceIds": "reads --multiprocess_test_worker_id, which only their launcher sets",
    "socket_transfer_test": "sets its options under `if __name__ == '__main__'`, which pytest does not run",
}
LIMIT = 1800  # seconds of all files under one launcher
_LINE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)\.(\w+)", re.MULTILINE)
_WORST = ("passed", "skipped", "failed")
_THEIRS = {"OK": "passed", "SKIPPED": "skipped", "FAILED": "failed"}

Verdicts = dict[str, str]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), **more}


def under_ours(folder: Path) -> Verdicts:
    """By file.class.test: what pytest says with the plug-in."""
    (folder / "conftest.py").write_text(CONFTEST)
    report = folder / "ours.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    command += ["-o", "python_files=*_test.py", "--junitxml", str(report), str(folder)]
    subprocess.run(command, cwd=folder, env=environment(), timeout=LIMIT, stdout=subprocess.DEVNULL)
    found: Verdicts = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        verdict = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}.{case.get('name')}"] = verdict
    return found


def under_theirs(file: Path) -> Verdicts:
    """The same of one file, as the worst of what its processes print."""
    command = [sys.executable, str(file), "--num_processes=2"]
    own = file.parent / f"of_{file.stem}"  # their launcher keeps what processes print in a folder that has one name
    own.mkdir()
    env = environment(JAX_NUM_CPU_DEVICES="4", TEST_UNDECLARED_OUTPUTS_DIR=str(own))
    try:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        said = subprocess.run(command, cwd=file.parent, env=env, timeout=LIMIT, **pipes).stdout
    except subprocess.TimeoutExpired as late:
        said = late.stdout or b""
    found: Verdicts = {}
    for outcome, group, name in _LINE.findall(said.decode(errors="replace")):
        test, verdict = f"{file.stem}.{group}.{name}", _THEIRS[outcome]
        found[test] = max(found.get(test, verdict), verdict, key=_WORST.index)
    return found


def main() -> int:
    if len(sys.argv) != 2 or not (copy := Path(sys.argv[1]) / "tests/multiprocess").is_dir():
        print("give the folder of a copy of github.com/jax-ml/jax: it has tests/multiprocess", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "theirs")
        shutil.copytree(copy, folder)
        files = sorted(folder.glob("*_test.py"))
        theirs = {name: verdict for file in files for name, verdict in under_theirs(file).items()}
        ours = under_ours(folder)
    print(f"{len(files)} files; ours: {counts(ours)}; JAX's own launcher: {counts(theirs)}")
    other = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    told = {name: why for name in other for part, why in DIFFERENT.items() if name.startswith(part)}
    for name in sorted(other):
        line = f"{name}: ours {ours.get(name, 'not run')}, theirs {theirs.get(name, 'not run')}"
        print(line + (f" ({told[name]})" if name in told else ""))
    print(f"the same: {len(ours.keys() | theirs.keys()) - len(other)}; other: {len(other)}, {len(told)} of them known")
    return int(bool(other - told.keys()))


def counts(of: Verdicts) -> str:
    found = Counter(of.values())
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in _WORST)


if __name__ == "__main__":
    sys.exit(main())
