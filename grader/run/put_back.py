"""Restore files that an answer has deleted in its own folder, which contains weeks of the learner's work."""

import contextlib
import os
from pathlib import Path

from grader.files import write_whole

LARGEST = 2**20  # bytes of a file that is kept; answers have some thousands


class Kept:
    """The files of a folder, up to 1 MiB each, as they are when this object is made."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._files = folder, dict[str, bytes]()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and entry.stat().st_size <= LARGEST:
                        self._files[entry.name] = Path(entry.path).read_bytes()

    def put_back(self) -> tuple[tuple[str, ...], str]:
        """Restore the missing files; return their names, and the system's error if that fails.

        Files that have changed are left alone: an editor may have saved them.
        """
        gone = tuple(sorted(name for name in self._files if not os.path.lexists(self.folder / name)))
        try:
            for name in gone:
                self.folder.mkdir(parents=True, exist_ok=True)
                write_whole(self.folder / name, self._files[name])
        except OSError as error:
            return gone, error.strerror or str(error)
        return gone, ""
