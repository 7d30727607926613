"""Each pin of constraints.txt can be had by the oldest Python that it is for."""

import importlib.metadata

import pytest
from packaging.requirements import Requirement
from projects import ROOT, load

pins = load(".ci/pins.py")


def in_force(python: str) -> dict[str, str]:
    """{package: version} that constraints.txt pins for this Python."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    version = {"python_version": python.rpartition(".")[0], "python_full_version": python}
    held = [r for r in map(Requirement, lines) if not r.marker or r.marker.evaluate(version)]
    assert len({r.name.lower() for r in held}) == len(held), "two pins for one package"
    return {r.name: str(r.specifier).removeprefix("==") for r in held}


@pytest.mark.parametrize("python", [pins.OLDEST, pins.NEWER])
def test_what_is_installed_as_pinned_asks_for_no_newer_python_than_promised(python: str):
    installed = {d.name: (d.version, d.metadata.get("Requires-Python", "")) for d in importlib.metadata.distributions()}
    pinned = {n: installed[n] for n, v in in_force(python).items() if n in installed and installed[n][0] == v}
    assert len(pinned) > 50
    assert list(pins.too_new(pinned, python)) == []


def test_a_pin_that_asks_for_more_is_named_with_what_to_do():
    pinned = {"soupsieve": ("4.1.1", ">=3.11.5"), "numpy": ("2.4.6", ">=3.11"), "tabulate": ("0.10.0", "")}
    said = list(pins.too_new(pinned, "3.11.0"))
    assert said == ["soupsieve 4.1.1 needs Python >=3.11.5, and 3.11.0 is promised: pip install 'soupsieve<4.1.1'"]
    assert list(pins.too_new(pinned, "3.12.0")) == []


def test_packages_that_differ_between_the_environments_get_a_line_for_each():
    old = {"jax": ("0.10.2", ">=3.11"), "attrs": ("26.1.0", "")}
    new = {"jax": ("0.12.0.1", ">=3.12"), "attrs": ("26.1.0", ""), "zipp": ("4.1.2", "")}
    assert list(pins.lines(old, new)) == [
        "attrs==26.1.0",
        'jax==0.10.2 ; python_version < "3.12"',
        'jax==0.12.0.1 ; python_version >= "3.12"',
        'zipp==4.1.2 ; python_version >= "3.12"',
    ]
