"""What the tests of the site look at, and with what."""

import pytest
import small_book
from chromium import Browser


@pytest.fixture(scope="module")
def html():
    """The real book, built from what is recorded, once for all tests."""
    return small_book.real_book()


@pytest.fixture(scope="module")
def browser():
    with Browser() as running:
        yield running
