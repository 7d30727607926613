"""Cells run in a Jupyter kernel, and what each of them shows."""

from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from minipod.processes.environment import clean

ROOT = Path(__file__).parents[3]


@dataclass
class Ran:
    """One cell. text: what it printed or gave, as a terminal shows it · kinds: of what it gave · error: if any."""

    text: str = ""
    kinds: frozenset[str] = frozenset()
    error: str = ""


def run(cells: list[str], folder: Path) -> list[Ran]:
    """Run all cells, whatever becomes of those before, in a kernel of their own. Raises after ten minutes for one."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    environment = clean(PYTHONPATH=str(ROOT), LANG="en_US.UTF-8")
    environment |= {"IPYTHONDIR": str(folder / ".ipython"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    client = NotebookClient(notebook, timeout=600, allow_errors=True, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    return [_ran(cell) for cell in notebook.cells]


def _ran(cell: nbformat.NotebookNode) -> Ran:
    ran = Ran()
    for output in cell.outputs:
        if output.output_type == "error":
            ran.error = f"{output.ename}: {output.evalue}"
        elif output.output_type == "stream":
            ran.text += output.text
        else:
            ran.text += output.data["text/plain"]
            ran.kinds |= set(output.data)
    return ran
