"""The explorer in a headless Chromium: chosen by keys, kept in the address, on a phone, on paper, without script."""

import pytest
from chromium import Browser

STATE = "array=8,16&mesh=2,4&spec=x,-"
FACTS = "[...document.querySelectorAll('.explorer dd')].map(e => e.textContent)"
SHOWN = "document.querySelector('.explorer .shown').textContent"
SAID = "document.querySelector('.explorer .said').textContent"
NAMES = "[...document.querySelectorAll('.explorer [name]')].map(e => e.name).join(' ')"


def opened(browser: Browser, html, query: str = STATE, edition: str = "en", width: int = 1280) -> None:
    browser.look(width)
    browser.open(f"{html.as_uri()}/{edition}/explorer.html?{query}")
    browser.errors.clear()


def field(name: str) -> str:
    return f".explorer [name={name}]"


def choose(browser: Browser, name: str, value: str) -> None:
    """Another value in a field, as by the keyboard: the field has the focus."""
    it, change = f"document.querySelector('{field(name)}')", "new Event('change', {bubbles: true})"
    browser.run(f"{it}.focus(), {it}.value = '{value}', {it}.dispatchEvent({change})")


def retype(browser: Browser, name: str, text: str, *keys: str) -> None:
    """Click a field three times, which selects what is in it, and type something else."""
    browser.click(field(name), times=3)
    browser.press(*text, *keys)


def value(browser: Browser, name: str) -> str:
    return browser.run(f"document.querySelector('{field(name)}').value")


def has_focus(browser: Browser) -> str:
    return browser.run("document.activeElement.name ?? document.activeElement.tagName")


def test_a_choice_is_drawn_and_stands_in_the_address_and_the_field_keeps_the_focus(browser, html):
    opened(browser, html)
    assert browser.run(FACTS) == ["2", "4", "256", "2,048"]
    choose(browser, "spec1", "y")
    assert browser.run(FACTS) == ["8", "1", "64", "512"]
    assert has_focus(browser) == "spec1" and "spec=x,y" in browser.run("location.search")
    choose(browser, "do", "sum")
    assert "all-reduce" in browser.run(SHOWN) and "do=sum" in browser.run("location.search")
    assert 'P("x", "y")' in browser.run("document.querySelector('.explorer pre').textContent")
    opened(browser, html, browser.run("location.search")[1:])
    assert browser.run(FACTS) == ["8", "1", "64", "512"] and "all-reduce" in browser.run(SHOWN)
    assert browser.errors == []


def test_who_leaves_a_field_by_mouse_or_tab_is_where_they_went(browser, html):
    opened(browser, html)
    retype(browser, "mesh", "4, 2")
    browser.click(field("array"))
    assert has_focus(browser) == "array" and value(browser, "mesh") == "4, 2"
    browser.press("End", ",", "4", "Enter")
    assert (value(browser, "array"), value(browser, "mesh")) == ("8, 16, 4", "4, 2")
    assert "array=8,16,4&mesh=4,2" in browser.run("location.search") and has_focus(browser) == "array"
    retype(browser, "array", "16, 16", "Tab")
    assert has_focus(browser) == "mesh" and value(browser, "array") == "16, 16"
    retype(browser, "mesh", "2, 2")
    browser.click("h1")
    assert has_focus(browser) == "BODY" and "mesh=2,2" in browser.run("location.search")
    retype(browser, "mesh", "2, 4")
    browser.click(field("do"))
    assert has_focus(browser) == "do"
    browser.press("ArrowDown", "Enter")
    assert value(browser, "do") == "reshard" and has_focus(browser) == "do" and browser.errors == []


def test_the_picture_follows_the_typing_and_the_field_keeps_what_is_typed(browser, html):
    opened(browser, html)
    retype(browser, "array", "4,8")
    browser.wait_for("location.search.includes('array=4,8&')")
    assert browser.run(FACTS) == ["2", "4", "64", "512"]
    assert value(browser, "array") == "4,8" and has_focus(browser) == "array"
    browser.press(",", "x")  # no array yet: nothing is said as long as it is typed
    browser.run("new Promise(done => setTimeout(done, 500))")
    assert browser.run(FACTS) == ["2", "4", "64", "512"] and browser.run(SAID) == ""
    browser.press("Tab")
    assert browser.run(SAID).startswith("That cannot be drawn") and value(browser, "array") == "4, 8"


def test_fields_come_and_go_with_what_is_asked(browser, html):
    opened(browser, html)
    assert browser.run(NAMES) == "array mesh spec0 spec1 do"
    for does, more in (("reshard", " to0 to1"), ("matmul", " columns second0 second1"), ("sum", " dim"), ("look", "")):
        choose(browser, "do", does)
        assert browser.run(NAMES) == "array mesh spec0 spec1 do" + more and value(browser, "do") == does
    retype(browser, "array", "8,16,4", "Tab")
    assert browser.run(NAMES) == "array mesh spec0 spec1 spec2 do" and value(browser, "spec0") == "x"
    retype(browser, "mesh", "8", "Tab")
    options = "[...document.querySelector('.explorer [name=spec1]').options].map(o => o.text)"
    assert browser.run(options) == ["None", "x"] and value(browser, "spec0") == "x" and has_focus(browser) == "spec0"


def test_before_and_after_stand_side_by_side_above_bars_of_one_scale(browser, html):
    opened(browser, html, STATE + "&do=reshard&to=-,x")
    titles = (
        "[...document.querySelectorAll('.explorer figcaption')].map(e => e.textContent.replace(/\\s+/g, ' ').trim())"
    )
    figures = "[...document.querySelectorAll('.explorer figure')]"
    bars = """[...document.querySelectorAll('.explorer .bars tr')].map(row => [
      row.cells[0].textContent, row.cells[2].textContent,
      Math.round(100 * row.querySelector('i').offsetWidth / row.cells[1].clientWidth)])"""
    assert browser.run(titles) == ["Before: x float32[8,16] P('x', None)", "After: x float32[8,16] P(None, 'x')"]
    assert len(set(browser.run(f"{figures}.map(e => e.getBoundingClientRect().top)"))) == 1
    on_mesh = f"{figures}.map(e => e.querySelector('.mesh td[class]').innerText)"
    assert browser.run(on_mesh) == ["0\n0:4\n0:16", "0\n0:8\n0:8"]
    (*before, first), (*after, second), (*sent, third) = browser.run(bars)
    assert (before, after, sent) == (["held before", "256"], ["held after", "256"], ["sent", "128"])
    assert first == second > 90 and abs(third - first / 2) < 2
    choose(browser, "do", "matmul")
    assert [said[:11] for said in browser.run(titles)] == ["Before: x f", "Before: y f", "After: x @ "]
    choose(browser, "do", "look")
    assert browser.run(titles) == ["x float32[8,16] P('x', None)"] and browser.run(bars) == []


def test_what_jax_refuses_is_refused_in_its_words_and_what_cannot_be_drawn_changes_nothing(browser, html):
    opened(browser, html)
    choose(browser, "spec1", "x")
    assert "duplicate entries for `x`" in browser.run(SHOWN)
    opened(browser, html)
    choose(browser, "mesh", "40")
    assert browser.run(SAID).startswith("That cannot be drawn") and value(browser, "mesh") == "2, 4"
    assert browser.run(FACTS) == ["2", "4", "256", "2,048"]
    for query in ("array=%3Cimg%20src=x%3E&mesh=2&spec=x", "array=8&mesh=99&spec=x", "nonsense"):
        opened(browser, html, query, "zh-Hans")  # it is told, and the page begins as ever
        assert browser.run(SAID).startswith("这里画不出来") and len(browser.run(FACTS)) == 4
        assert browser.run("document.querySelector('.explorer img')") is None and browser.errors == []


@pytest.mark.parametrize("edition", ["en", pytest.param("zh-Hant", marks=pytest.mark.long)])
def test_on_a_phone_nothing_runs_out_of_the_page(browser, html, edition):
    opened(browser, html, "array=8,16,4&mesh=2,2,4&spec=x,y,z&do=reshard&to=-,-,-", edition, 390)
    assert browser.run("document.documentElement.scrollWidth") <= 390
    fields = "[...document.querySelectorAll('.explorer :is(input, select)')]"
    assert browser.run(f"{fields}.every(e => e.closest('label').textContent.trim())")


def test_paper_and_a_page_without_script_have_the_picture(browser, html):
    opened(browser, html)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("document.querySelector('.explorer table').checkVisibility()")
    assert not browser.run("document.querySelector('.explorer form').checkVisibility()")
    inside = (html / "en" / "explorer.html").read_text("utf-8").partition('<div class="explorer"')[2]
    assert inside.count('<table class="blocks">') == 1 and "<form" not in inside[: inside.index("</table>")]
