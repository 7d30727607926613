"""Chapter 20's server: what it refuses."""

import sys
from pathlib import Path

import numpy as np
import pytest

LESSON = Path(__file__).resolve().parents[2] / "lessons/ch20_serving"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch):
    """The lesson's modules import each other by name, and are gone afterwards."""
    monkeypatch.syspath_prepend(str(LESSON))
    before = set(sys.modules)
    yield __import__("run").serve
    for name in {"run", "arrays", "decoder", "cuts", "cache"} - before:
        sys.modules.pop(name, None)


def test_more_tokens_than_the_cache_has_room_for_are_refused(serve):
    """Before anything is placed or compiled; in the cache itself such a token would be lost in silence."""
    with pytest.raises(ValueError, match="the cache would be full: 9 tokens and room for 8"):
        serve(None, None, "sequence", None, np.zeros((1, 9), int), 5, 8)
