"""Write constraints.txt from the two environments that the tests pass in: `.venv` (Python 3.11) and `.venv-newest`.

.venv/bin/python .ci/pins.py

No pin may ask for more than the oldest Python that it is for: 3.11.0, and 3.12.0 where the newest JAX is.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWER = "3.11.0", "3.12.0"  # a pin is for one of them and up
OURS = {"one-program-many-devices"}
TOOLS = {"pip", "wheel"}
LOOK = """
import importlib.metadata, json
all = importlib.metadata.distributions()
print(json.dumps([(d.name, d.version, d.metadata.get("Requires-Python", "")) for d in all]))
"""


def pins(environment: Path) -> dict[str, tuple[str, str]]:
    """{package: (version, the Pythons that it asks for)} of what is installed in one environment."""
    command = [environment / "bin/python", "-I", "-c", LOOK]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {name: (version, asks) for name, version, asks in found if name.lower() not in OURS | TOOLS}


def too_new(pinned: dict[str, tuple[str, str]], python: str) -> Iterator[str]:
    """A sentence for each pin that this Python cannot have."""
    for name, (version, asks) in sorted(pinned.items()):
        if not SpecifierSet(asks).contains(python):
            yield f"{name} {version} needs Python {asks}, and {python} is promised: pip install '{name}<{version}'"


def lines(old: dict[str, tuple[str, str]], new: dict[str, tuple[str, str]]) -> Iterator[str]:
    """The lines of constraints.txt: one for each package, or two where the environments differ."""
    for name in sorted(old.keys() | new.keys(), key=str.lower):
        if old.get(name) == new.get(name):
            yield f"{name}=={old[name][0]}"
            continue
        if name in old:
            yield f'{name}=={old[name][0]} ; python_version < "3.12"'
        if name in new:
            yield f'{name}=={new[name][0]} ; python_version >= "3.12"'


def main() -> None:
    """The command line."""
    old, new = pins(ROOT / ".venv"), pins(ROOT / ".venv-newest")
    if wrong := [f".venv: {w}" for w in too_new(old, OLDEST)] + [f".venv-newest: {w}" for w in too_new(new, NEWER)]:
        sys.exit("\n".join(wrong))
    text = ["# Versions that the tests passed with; made by .ci/pins.py.", *lines(old, new)]
    (ROOT / "constraints.txt").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
