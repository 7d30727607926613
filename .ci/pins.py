"""Write constraints.txt from the two environments that the tests pass in: `.venv` (Python 3.11) and `.venv-newest`.

.venv/bin/python .ci/pins.py
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = {"one-program-many-devices"}
TOOLS = {"pip", "setuptools", "wheel"}


def pins(environment: str) -> dict[str, str]:
    """{package: version} as pip freezes them in one environment."""
    command = [ROOT / environment / "bin/python", "-m", "pip", "freeze", "--exclude-editable"]
    frozen = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = dict(re.findall(r"^([\w.-]+)==(\S+)$", frozen, re.M))
    return {name: version for name, version in found.items() if name.lower() not in OURS | TOOLS}


def main() -> None:
    old, new = pins(".venv"), pins(".venv-newest")
    lines = ["# Versions that the tests passed with; made by .ci/pins.py."]
    for name in sorted(old.keys() | new.keys(), key=str.lower):
        if old.get(name) == new.get(name):
            lines.append(f"{name}=={old[name]}")
            continue
        if name in old:
            lines.append(f'{name}=={old[name]} ; python_version < "3.12"')
        if name in new:
            lines.append(f'{name}=={new[name]} ; python_version >= "3.12"')
    (ROOT / "constraints.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
