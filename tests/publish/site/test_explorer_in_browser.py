"""The explorer in a headless Chromium: chosen by keys, kept in the address, on a phone, on paper, without script."""

import chromium
import pytest
from chromium import Browser

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium on this machine")

STATE = "array=8,16&mesh=2,4&spec=x,-"
FACTS = "[...document.querySelectorAll('.explorer dd')].map(e => e.textContent)"
SHOWN = "document.querySelector('.explorer .shown').textContent"


def opened(browser: Browser, html, query: str = STATE, edition: str = "en", width: int = 1280) -> None:
    browser.look(width)
    browser.open(f"{html.as_uri()}/{edition}/explorer.html?{query}")
    browser.errors.clear()


def choose(browser: Browser, name: str, value: str) -> None:
    """Another value in a field, as by the keyboard: the field has the focus."""
    field = f"document.querySelector('.explorer [name={name}]')"
    change = "new Event('change', {bubbles: true})"
    browser.run(f"{field}.focus(), {field}.value = '{value}', {field}.dispatchEvent({change})")


def test_a_choice_is_drawn_and_stands_in_the_address_and_the_field_keeps_the_focus(browser, html):
    opened(browser, html)
    assert browser.run(FACTS) == ["2", "4", "256", "2,048"]
    choose(browser, "spec1", "y")
    assert browser.run(FACTS) == ["8", "1", "64", "512"]
    assert browser.run("document.activeElement.name") == "spec1"
    assert "spec=x,y" in browser.run("location.search")
    choose(browser, "do", "sum")
    assert "all-reduce" in browser.run(SHOWN) and "do=sum" in browser.run("location.search")
    assert 'P("x", "y")' in browser.run("document.querySelector('.explorer pre').textContent")
    opened(browser, html, browser.run("location.search")[1:])
    assert browser.run(FACTS) == ["8", "1", "64", "512"] and "all-reduce" in browser.run(SHOWN)
    assert browser.errors == []


def test_what_jax_refuses_is_refused_in_its_words_and_what_cannot_be_drawn_changes_nothing(browser, html):
    opened(browser, html)
    choose(browser, "spec1", "x")
    assert "duplicate entries for `x`" in browser.run(SHOWN)
    opened(browser, html)
    choose(browser, "mesh", "40")
    said = "document.querySelector('.explorer .said').textContent"
    assert browser.run(said).startswith("That cannot be drawn") and browser.run(FACTS) == ["2", "4", "256", "2,048"]
    assert browser.run("document.querySelector('.explorer [name=mesh]').value") == "2, 4"


@pytest.mark.parametrize("query", ["array=%3Cimg%20src=x%3E&mesh=2&spec=x", "array=8&mesh=99&spec=x", "nonsense"])
def test_nonsense_in_the_address_is_told_and_the_page_begins_as_ever(browser, html, query):
    opened(browser, html, query, "zh-Hans")
    assert browser.run("document.querySelector('.explorer .said').textContent").startswith("这里画不出来")
    assert len(browser.run(FACTS)) == 4 and browser.run("document.querySelector('.explorer img')") is None
    assert browser.errors == []


@pytest.mark.parametrize("edition", ["en", "zh-Hant"])
def test_on_a_phone_nothing_runs_out_of_the_page(browser, html, edition):
    opened(browser, html, "array=8,16,4&mesh=2,2,4&spec=x,y,z&do=reshard&to=-,-,-", edition, 390)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    fields = "[...document.querySelectorAll('.explorer :is(input, select)')]"
    named = f"{fields}.every(e => e.closest('label').textContent.trim())"
    assert browser.run(named)


def test_paper_and_a_page_without_script_have_the_picture(browser, html):
    opened(browser, html)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("document.querySelector('.explorer table').checkVisibility()")
    assert not browser.run("document.querySelector('.explorer form').checkVisibility()")
    browser.call("Emulation.setEmulatedMedia", media="")
    text = (html / "en" / "explorer.html").read_text("utf-8")
    inside = text[text.index('<div class="explorer"') :]
    assert inside.count('<table class="blocks">') == 1 and "<form" not in inside[: inside.index("</table>")]
