"""A folder as a mailbox: who sends does not wait, who receives does."""

import os
import time
from pathlib import Path

import numpy as np


class Mailbox:
    def __init__(self, folder, me, most=60):
        self.folder, self.me = Path(folder), me
        self.most = most  # seconds to wait for anything

    def _file(self, to, name):
        return self.folder / f"{to}-{name}.npy"

    def send(self, to, name, x):
        hidden = self.folder / f".{self.me}-{to}-{name}.npy"
        np.save(hidden, np.asarray(x))
        os.replace(hidden, self._file(to, name))  # there, and whole, at once

    def receive(self, name):
        file = self._file(self.me, name)
        self._wait(file.exists, f"for {name}")
        x = np.load(file)
        file.unlink()
        return x

    def taken(self, to, name):
        """Wait until the receiver has it."""
        file = self._file(to, name)
        self._wait(lambda: not file.exists(), f"until stage {to} takes {name}")

    def _wait(self, done, what):
        end = time.monotonic() + self.most
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(f"stage {self.me} waits {what}")
            time.sleep(0.001)
