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
        links = "[...document.querySelectorAll('#search li a')]"
        at = f"{links}.indexOf(document.activeElement)"
        count = browser.run(f"{links}.length")
        assert (
            count == 12 and browser.run(at) == -1 and browser.run("document.activeElement.value") == "ring all-reduce"
        )
        places = []
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"):
            browser.press(key)
            places.append(browser.run(at))
        assert places == [0, 1, 0, -1, count - 1, -1, 0]
        browser.press("Tab")
        assert browser.run(at) == 1
        browser.press("s")
        assert browser.run("document.activeElement.value") == "ring all-reduces"
        anchor = browser.run(f"{links}[0].hash")
        browser.press("Enter")
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


def test_one_escape_closes_the_box_and_what_was_focused_has_it_again(browser, html):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/en/ch02_pmap.html")
    browser.run("document.querySelector('.take-away').focus()")
    browser.press("/")
    browser.wait_for("document.getElementById('search').open")
    browser.press(*"psum")
    browser.wait_for("document.querySelectorAll('#search li').length > 3")
    browser.press("ArrowDown", "Escape")
    browser.wait_for("!document.getElementById('search').open")
    assert browser.run("document.activeElement.className") == "take-away"
    browser.press("/")
    browser.wait_for("document.getElementById('search').open")
    browser.press("Escape")
    assert not browser.run("document.getElementById('search').open")


def test_results_are_links_in_a_list_and_nothing_else_takes_the_focus(browser, html):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/en/search.html?q=sharding")
    browser.wait_for("document.querySelectorAll('.search-page li').length > 3")
    inside = "[...document.querySelectorAll('.search-page :is(li, ul, input)')]"
    assert browser.run(f"{inside}.every(e => !e.role && e.tabIndex < 1)")
    assert browser.run(
        "[...document.querySelectorAll('.search-page li')].every(e => e.querySelectorAll('a').length === 1)"
    )


@pytest.mark.parametrize(
    "edition, query, says",
    [
        ("en", "shardy mesh", "Nothing here has “shardy”. For “shard”, “shards” instead: The 12 best"),
        ("en", "tensorflow mesh", "Nothing here has “tensorflow”. Without it: The 12 best"),
        ("en", "mesh", "The 12 best"),
        ("zh-Hans", "葡萄牙的分片", "书里没有“葡萄牙”，去掉以后：最相关的 12 处"),
        ("zh-Hant", "葡萄牙的分片", "書裡沒有「葡萄牙」，去掉以後：最相關的 12 處"),
        ("zh-Hans", "NamedShardng", "书里没有“NamedShardng”，改按“NamedSharding”查找：最相关的 12 处"),
    ],
)
def test_words_that_the_book_has_nowhere_are_said_to_be_so(browser, html, edition, query, says):
    browser.look(1280)
    browser.open(f"{html.as_uri()}/{edition}/ch02_pmap.html")
    ask(browser, query)
    assert browser.run("document.querySelector('#search .search-status').textContent").startswith(says)


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
