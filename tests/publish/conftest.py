"""What the tests look at, and with what: one book and one browser for all that a process tests."""

import chromium
import pytest
import small_book


@pytest.fixture
def html(request):
    """The real book, built from what is recorded; for what is long in all editions."""
    return small_book.real_book(*small_book.EDITIONS[: 3 if request.node.get_closest_marker("long") else 2])


@pytest.fixture(scope="session")
def one_browser():
    if chromium.executable() is None:
        pytest.skip("there is no Chromium on this machine")
    with chromium.Browser() as running:
        yield running


@pytest.fixture
def browser(one_browser):
    """A page of its own in it, as on a desk."""
    one_browser.renew()
    one_browser.look(1280)
    return one_browser
