"""The search box in a headless Chromium: opened, typed into, chosen from by keys alone; on a phone; without script."""

import pytest
from small_book import each_edition

KEY = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true, cancelable: true}))"
OPEN = "document.getElementById('search').open"
STATUS = "document.querySelector('#search .search-status').textContent"
LINKS = "[...document.querySelectorAll('#search li a')]"
MARKS = "[...document.querySelectorAll('mark')]"


def ask(browser, query: str) -> None:
    """Open the box by its key and type into it; until the answer is there."""
    browser.run(KEY % "/")
    browser.run(f"""{{ const field = document.activeElement; field.value = {query!r};
        field.dispatchEvent(new Event('input', {{bubbles: true}})) }}""")
    browser.wait_for(f"{STATUS} !== ''")


def test_keys_alone_lead_from_a_question_to_the_words_marked_in_its_section(browser, html):
    browser.open(f"{html.as_uri()}/en/ch01_devices.html")
    browser.errors.clear(), browser.requests.clear()
    assert not browser.run(OPEN)
    ask(browser, "ring all-reduce")
    at, count = f"{LINKS}.indexOf(document.activeElement)", browser.run(f"{LINKS}.length")
    assert count == 12 and browser.run(at) == -1
    assert browser.run("document.activeElement.value") == "ring all-reduce"
    places = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"):
        browser.press(key)
        places.append(browser.run(at))
    assert places == [0, 1, 0, -1, count - 1, -1, 0]
    browser.press("Tab")
    assert browser.run(at) == 1
    browser.press("s")
    assert browser.run("document.activeElement.value") == "ring all-reduces"
    anchor = browser.run(f"{LINKS}[0].hash")
    browser.press("Enter")
    browser.wait_for("document.querySelectorAll('article mark').length > 1")
    assert browser.run("location.hash") == anchor and browser.run("location.search") == ""
    assert "ring all-reduce" in {m.lower() for m in browser.run(f"{MARKS}.map(m => m.textContent)")}
    assert browser.run(f"{MARKS}.every(m => m.closest('article :target'))")
    assert browser.errors == [] and all(r.startswith((html.as_uri(), "data:")) for r in browser.requests)


def test_one_escape_closes_the_box_and_what_was_focused_has_it_again(browser, html):
    browser.open(f"{html.as_uri()}/en/ch02_pmap.html")
    browser.run("document.querySelector('.take-away').focus()")
    browser.press("/")
    browser.wait_for(OPEN)
    browser.press(*"psum")
    browser.wait_for("document.querySelectorAll('#search li').length > 3")
    browser.press("ArrowDown", "Escape")
    browser.wait_for(f"!{OPEN}")
    assert browser.run("document.activeElement.className") == "take-away"
    browser.press("/")
    browser.wait_for(OPEN)
    browser.press("Escape")
    assert not browser.run(OPEN)


@each_edition
def test_words_that_the_book_has_nowhere_are_said_to_be_so(browser, html, edition):
    absent = {
        "en": {
            "shardy mesh": "Nothing here has “shardy”. Results for “shard”, “shards” instead: The 12 best",
            "tensorflow mesh": "Nothing here has “tensorflow”. Results for the other words: The 12 best",
            "mesh": "The 12 best",
        },
        "zh-Hans": {
            "葡萄牙的分片": "书里没有“葡萄牙”，去掉以后：最相关的 12 处",
            "NamedShardng": "书里没有“NamedShardng”，改按“NamedSharding”查找：最相关的 12 处",
        },
        "zh-Hant": {"葡萄牙的分片": "書裡沒有「葡萄牙」，去掉以後：最相關的 12 處"},
    }
    for query, says in absent[edition].items():
        browser.open(f"{html.as_uri()}/{edition}/ch02_pmap.html")
        ask(browser, query)
        assert browser.run(STATUS).startswith(says)


@pytest.mark.parametrize(
    "edition, nothing, instead", [("en", "zzqqxx", 4), ("zh-Hans", "葡萄牙", 4), ("en", "collexyz", 1)]
)
def test_what_is_not_in_the_book_is_said_in_a_sentence_with_something_to_try(browser, html, edition, nothing, instead):
    browser.open(f"{html.as_uri()}/{edition}/ch02_pmap.html")
    # The index is loaded when somebody searches, and not before.
    assert browser.run("window.searchIndex === undefined && !document.querySelector('script[src*=searchindex]')")
    ask(browser, nothing)
    assert browser.run("window.searchIndex.docs.length") > 250
    assert browser.run(f"{LINKS}.length") == 0 and len(browser.run(STATUS)) > 15
    assert browser.run("document.querySelectorAll('#search .search-try button').length") >= instead
    browser.run("document.querySelector('#search .search-try button').click()")
    browser.wait_for(f"{LINKS}.length > 0")


def test_on_a_phone_nothing_is_wider_than_the_screen_and_the_button_opens_it(browser, html):
    browser.look(390, 844)
    browser.open(f"{html.as_uri()}/zh-Hans/ch09_training.html")
    browser.run("document.querySelector('.switches .search-button__button').click()")
    assert browser.run(OPEN)
    ask(browser, "张量并行")
    within = "[...document.querySelectorAll('#search, #search *')].every(e => e.getBoundingClientRect().right < 392)"
    assert browser.run(within) and browser.run("document.documentElement.scrollWidth") <= 390
    browser.run("document.querySelector('#search .search-close').click()")
    assert not browser.run(OPEN)


def test_the_page_of_the_search_answers_a_link_by_a_list_and_says_without_script_where_to_look(browser, html):
    browser.open(f"{html.as_uri()}/en/search.html?q=NamedSharding")
    browser.wait_for("document.querySelectorAll('.search-page li').length > 3")
    inside = "[...document.querySelectorAll('.search-page :is(li, ul, input)')]"
    assert browser.run(f"{inside}.every(e => !e.role && e.tabIndex < 1)")  # nothing else takes the focus
    rows = "[...document.querySelectorAll('.search-page li')]"
    assert browser.run(f"{rows}.every(e => e.querySelectorAll('a').length === 1)")
    page = (html / "en" / "search.html").read_text("utf-8")
    without = page[page.index("<noscript>\n    <p>") : page.rindex("</noscript>")]
    assert all(word in without for word in ("JavaScript", "elsewhere.html", "ch12_pitfalls.html"))
