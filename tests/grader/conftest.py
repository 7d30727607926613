"""What the tests of the checker share."""

import pytest
from checker_runs import project


@pytest.fixture
def root(tmp_path):
    """A project with the sample lessons, without answers."""
    return project(tmp_path)
