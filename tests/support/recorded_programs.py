"""Compiled programs that tests read: tests/data/KIND.hlo holds those of one kind, each below its name.

`tests/data/record_programs.py` writes them.
"""

import re
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
_SECTION = re.compile(r"^### (\S+)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)


def of_kind(kind: str) -> dict[str, str]:
    """Name → text of the program, for a kind such as "tpu" or "cpu-0.12"."""
    path = DATA / f"{kind}.hlo"
    return dict(_SECTION.findall(path.read_text("utf-8"))) if path.exists() else {}


def write(kind: str, programs: dict[str, str]) -> None:
    (DATA / f"{kind}.hlo").write_text("".join(f"### {name}\n{programs[name]}" for name in sorted(programs)), "utf-8")


# "KIND-NAME" → text
RECORDED = {
    f"{path.stem}-{name}": text for path in sorted(DATA.glob("*.hlo")) for name, text in of_kind(path.stem).items()
}
