"""Our distributions are on no package index, where anybody could take their names: no text installs them from one."""

import re
import subprocess
from pathlib import Path

from publish import package

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {".md", ".py", ".toml", ".yml", ".yaml", ".json", ".txt", ".html", ".sh", ".cfg", ".sbatch", ".cff", ""}
NAMES = r"(?:minipod|one[-_]program[-_]many[-_]devices)"
INSTALL = re.compile(r"\bpip3? install\b|\bpip3? download\b|\bpipx? run\b|\bpipx install\b|\buv (?:add|tool)\b|\buvx\b")
BARE = re.compile(rf"(?<![\w./{{-]){NAMES}(?:\[[\w, -]*\])?(?:[=<>~!]=?[\w.*]+)?(?=[\s'\"`,;)]|$)", re.IGNORECASE)


def told(text: str) -> list[str]:
    """The commands in a text that install one of our names: from the installer's own to the end of the command."""
    found = []
    for start in INSTALL.finditer(text):
        after = text[start.end() : start.end() + 400]
        command = re.split(r"`|#|;|&&|\\n|\n(?![ \t]+[\"'-][^:]*$)", after, maxsplit=1, flags=re.M)[0]
        if BARE.search(command):
            found.append(start[0] + command)
    return found


TELLS = (  # what does not count is in the texts that are read
    "`pip install 'minipod[testing]'` brings it",
    'run: >-\n  pip install "jax==1"\n  "minipod[testing,pods]"\n',
    "pip install --find-links _build/html 'one-program-many-devices[learn]'",
    "uv add minipod==0.1.0",
    "uvx minipod doctor",
)


def test_no_text_tells_readers_to_install_us_from_an_index():
    assert all(map(told, TELLS))
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in names.split("\0") if name and Path(name).suffix in TEXTS]
    files = [path for path in files if path.is_file() and path != Path(__file__)]
    read = {str(path.relative_to(ROOT)): path.read_text("utf-8", errors="replace") for path in files}
    assert len(read) > 1000
    assert {name: found for name, text in read.items() if (found := told(text))} == {}
    wheels = {wheel for text in read.values() for wheel in re.findall(rf"{NAMES}-[\w.]+-py3-none-any\.whl", text)}
    assert wheels == {*package.filenames()}, "the version in a text is another one"
