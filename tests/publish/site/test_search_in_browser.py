"""The search box in a headless Chromium: opened, typed into, chosen from by keys alone; on a phone; without script."""

import functools
import http.server
import threading

import chromium
import pytest

pytestmark = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium on this machine")

KEY = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true, cancelable: true}))"


def ask(browser, query: str) -> None:
    """Open the box by its key and type into it; until the answer is there."""
    browser.run(KEY % "/")
    browser.run(f"""{{ const field = document.activeElement; field.value = {query!r};
        field.dispatchEvent(new Event('input', {{bubbles: true}})) }}""")
    browser.wait_for("document.querySelector('#search .search-status').textContent !== ''")


@pytest.mark.parametrize("how", ["file", "http"])
def test_keys_alone_lead_from_a_question_to_the_words_marked_in_its_section(browser, html, how):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = html.as_uri() if how == "file" else f"http://127.0.0.1:{server.server_address[1]}"
    try:
        browser.look(1280)
        browser.open(f"{base}/en/ch01_devices.html")
        browser.errors.clear(), browser.requests.clear()
        assert not browser.run("document.getElementById('search').open")
        ask(browser, "ring all-reduce")
        field = "document.activeElement"
        assert browser.run(f"{field}.role") == "combobox" and browser.run(f"{field}.ariaExpanded") == "true"
        chosen = f"document.getElementById({field}.getAttribute('aria-activedescendant'))"
        first = browser.run(f"{chosen}.textContent")
        browser.run(KEY % "ArrowDown")
        assert browser.run(f"{chosen}.ariaSelected") == "true" and browser.run(f"{chosen}.textContent") != first
        browser.run(KEY % "ArrowUp")
        assert browser.run(f"{chosen}.textContent") == first and browser.run(f"{chosen}.role") == "option"
        anchor = browser.run(f"{chosen}.querySelector('a').hash")
        browser.run(KEY % "Enter")
        browser.wait_for("document.querySelectorAll('article mark').length > 1")
        assert browser.run("location.hash") == anchor and browser.run("location.search") == ""
        assert {m.lower() for m in browser.run("[...document.querySelectorAll('mark')].map(m => m.textContent)")} >= {
            "ring all-reduce"
        }
        assert browser.run(
            "document.querySelectorAll('mark').length === document.querySelectorAll('article :target mark').length"
        )
        assert browser.errors == [] and all(r.startswith((base, "data:")) for r in browser.requests)
    finally:
        server.shutdown()
        server.server_close()


def test_the_index_is_loaded_when_somebody_searches_and_not_before(browser, html):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/zh-Hans/ch02_pmap.html")
    assert browser.run("window.searchIndex === undefined && !document.querySelector('script[src*=searchindex]')")
    ask(browser, "死锁")
    assert browser.run("window.searchIndex.docs.length") > 250


@pytest.mark.parametrize(
    "edition, nothing, instead", [("en", "zzqqxx", 4), ("zh-Hans", "葡萄牙", 4), ("en", "collexyz", 1)]
)
def test_what_is_not_in_the_book_is_said_in_a_sentence_with_something_to_try(browser, html, edition, nothing, instead):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/{edition}/ch02_pmap.html")
    ask(browser, nothing)
    assert browser.run("document.querySelectorAll('#search li').length") == 0
    assert len(browser.run("document.querySelector('#search .search-status').textContent")) > 15
    assert browser.run("document.querySelectorAll('#search .search-try button').length") >= instead
    browser.run("document.querySelector('#search .search-try button').click()")
    browser.wait_for("document.querySelectorAll('#search li').length > 0")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_button_opens_it(browser, html):
    browser.look(390, 844)
    browser.open(f"{html.as_uri()}/zh-Hant/ch09_training.html")
    browser.run("document.querySelector('.switches .search-button__button').click()")
    assert browser.run("document.getElementById('search').open")
    ask(browser, "張量平行")
    wide = (
        "[...document.querySelectorAll('#search, #search *')].filter(e => e.getBoundingClientRect().right > 391).length"
    )
    assert browser.run(wide) == 0 and browser.run("document.documentElement.scrollWidth") <= 390
    browser.run("document.querySelector('#search .search-close').click()")
    assert not browser.run("document.getElementById('search').open")


def test_the_page_of_the_search_answers_a_link_and_says_without_script_where_to_look(browser, html):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/en/search.html?q=NamedSharding")
    browser.wait_for("document.querySelectorAll('.search-page li').length > 3")
    page = (html / "en" / "search.html").read_text("utf-8")
    without = page[page.index("<noscript>\n    <p>") : page.rindex("</noscript>")]
    assert "JavaScript" in without and "elsewhere.html" in without and "ch12_pitfalls.html" in without
