"""`pytest lessons/` where nothing may be written: in a tree that is mounted read-only, as in a container."""

import os
import subprocess
import sys

import pytest
from checker_runs import HERE, answer

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$1" && shift && exec "$@"'
UNSHARE = ["unshare", *([] if os.getuid() == 0 else ["--map-root-user"]), "--mount", "sh", "-c", READ_ONLY]


NOT_COPIED = "the exercises could not be copied to answers/ (Read-only file system)"


def read_only(folder, root, *command):
    """Run the command in `root` while `folder` is mounted read-only, in a namespace of its own."""
    if sys.platform != "linux":
        pytest.skip("mounts a folder read-only, which only Linux does for a single process")
    if subprocess.run([*UNSHARE, str(folder), str(root), "true"], capture_output=True).returncode:
        pytest.skip("no mount namespace is allowed here")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "LC_", "LANG"))}
    command = [*UNSHARE, str(folder), str(root), sys.executable, *command]
    env |= {"PYTHONPATH": str(HERE.parent), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def root(root):
    """A project in which a warning is an error, as in the real one."""
    (root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return root


def test_without_answers_one_sentence_says_what_cannot_be_written(root):
    code, said = read_only(root, root, "-m", "pytest", "lessons/")
    assert code == 4
    assert said.strip() == f"ERROR: {NOT_COPIED}: make sure that it is a writable folder"


def test_what_is_missing_in_the_answers_is_said_and_the_rest_is_checked(root):
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n")
    code, said = read_only(root, root, "-m", "pytest", "lessons/")
    assert code == 1 and "1 of 4 solved" in said, said
    assert NOT_COPIED in said
    assert "answers/ch90_one.py lacks total, count_to, and nothing could be added to it (Read-only file sys" in said
    assert "answers/ch91_pair.py does not exist" in said and "Traceback" not in said


@pytest.mark.long
@pytest.mark.parametrize("kind", ["everything", "the cache", "the cache is a file"])
def test_with_answers_everything_is_checked(root, kind):
    for lesson in ("ch90_one", "ch91_pair"):
        answer(root, lesson, (root / f"solutions/{lesson}.py").read_text())
    cache = root / ".cache"
    if kind == "the cache is a file":
        cache.write_text("")
    else:
        (cache / "jax").mkdir(parents=True)
    code, said = read_only(root if kind == "everything" else cache, root, "-m", "pytest", "lessons/")
    assert code == 0 and "4 of 4 solved" in said, said
    assert "Warning" not in said and "Traceback" not in said
