"""`make speed`: what it says, and of what it cannot measure; how fast a check is, no test asserts."""

import pytest

from publish.audit import speed
from publish.audit.speed import Took


def test_what_a_command_took_is_its_own_and_its_childrens_and_medians_are_said(tmp_path, capsys):
    found = [Took(1.2, 1.6), Took(1.5, 1.4), Took(1.25, 1.5)]
    said = "ch03_sharding: its check takes 1.25 × (import jax + an empty pytest), of 3 runs 1.20 to 1.50; "
    assert speed.line("ch03_sharding", found) == said + "of processor time 1.50 ×"
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(10**6))'])"
    assert speed.took(tmp_path, "-c", busy).work > 0
    with pytest.raises(RuntimeError, match="no such luck"):
        speed.took(tmp_path, "-c", "raise SystemExit('no such luck')")
    assert speed.main(["ch77"]) == 2
    assert capsys.readouterr().err == "there is no chapter ch77: name one as ch03\n"
