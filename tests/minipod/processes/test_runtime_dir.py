"""What processes agree in is this user's own: nothing in a shared folder is trusted, and no link is followed."""

import os
import tempfile
from pathlib import Path

import pytest

from minipod import processes
from minipod.processes.runtime_dir import open_own, runtime_dir


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder in which somebody else may have been before."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


def ours(shared: Path) -> Path:
    return shared / f"minipod-{os.getuid()}"


def test_it_is_made_for_this_user_alone(shared: Path, monkeypatch: pytest.MonkeyPatch):
    before = os.umask(0)
    try:
        assert runtime_dir() == ours(shared) and ours(shared).stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)
    (shared / "run").mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared / "run"))
    assert runtime_dir() == shared / "run" / "minipod"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared / "no such folder"))
    assert runtime_dir() == ours(shared)


def test_a_link_in_its_place_or_one_that_others_can_write_is_not_trusted(shared: Path):
    (shared / "elsewhere").mkdir(0o700)
    ours(shared).symlink_to(shared / "elsewhere")
    with pytest.raises(PermissionError, match="is not your private folder: remove it, or set TMPDIR"):
        processes.free_port()
    assert list((shared / "elsewhere").iterdir()) == []
    ours(shared).unlink()
    ours(shared).mkdir(0o700)
    if os.getuid() == 0:  # only root can make a folder somebody else's
        os.chown(ours(shared), 12345, 12345)
        with pytest.raises(PermissionError, match="is not your private folder"):
            runtime_dir()
        os.chown(ours(shared), 0, 0)
    ours(shared).chmod(0o777)
    with pytest.raises(PermissionError, match="is not your private folder"):
        runtime_dir()


def test_a_link_inside_is_not_followed_either(shared: Path):
    victim = shared / "victim"
    victim.write_text("precious")
    for name in ("last-port", "place-0"):
        (runtime_dir() / name).symlink_to(victim)
        with pytest.raises(OSError, match="symbolic links|Too many levels"):
            os.close(open_own(runtime_dir() / name))
    with pytest.raises(OSError):
        processes.free_port()
    with pytest.raises(OSError), processes.slots(1, 1):
        pass
    assert victim.read_text() == "precious"
