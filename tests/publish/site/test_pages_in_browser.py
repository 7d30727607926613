"""The built pages in a headless Chromium: they load nothing from elsewhere, and keep the section."""

import functools
import http.server
import re
import threading

import pytest
import small_book

from publish.serve import Quiet

EDITIONS = ("en", "zh-Hans")


@pytest.fixture(scope="module", params=["http", pytest.param("file", marks=pytest.mark.long)])
def base(request):
    """The book's address, from a server on this machine; from disk most other tests open it."""
    html = small_book.real_book("en", "zh-Hans")
    if request.param == "file":
        yield html.as_uri()
        return
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(html))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def quiet(browser, base) -> bool:
    """No console error and no request but to the book itself."""
    return browser.errors == [] and all(r.startswith((base, "data:", "about:")) for r in browser.requests)


def test_pages_refer_to_no_other_host(html):
    outside = re.compile(
        r"""<(?:script|link|img|iframe|source|video|audio|object|embed)\b[^>]*?(?:src|href|data)=["'](?:https?:)?//[^"']*"""
        r"""|@import[^;]*//[^;]*|url\(["']?(?:https?:)?//[^)]*"""
    )
    pages = [html / "index.html"]
    pages += [p for e in EDITIONS for kind in ("*.html", "*.css") for p in (html / e).rglob(kind)]
    assert len(pages) > 20
    found = [f"{p.relative_to(html)}: {m[0]}" for p in pages for m in outside.finditer(p.read_text("utf-8"))]
    assert found == []


def test_what_the_theme_says_of_a_chinese_page_is_chinese(html):
    english = re.compile(r'(?:title|aria-label)="[a-zA-Z]+(?: [a-z]+)+"|>(?:Skip to|previous<|Listing )')
    for page in ("start", "ch03_sharding", "genindex", "search"):
        chinese = (html / "zh-Hans" / f"{page}.html").read_text("utf-8")
        assert english.findall(chinese) == [] and '<html lang="zh-CN"' in chinese
        assert english.search((html / "en" / f"{page}.html").read_text("utf-8"))


@pytest.mark.parametrize("page", ["ch03_sharding", "start", "ch10_processes"])
def test_no_error_no_outside_request_and_nothing_wider_than_a_phone(browser, base, page):
    browser.look(390, 844)
    for edition in EDITIONS:
        browser.open(f"{base}/{edition}/{page}.html")
        assert browser.run("document.documentElement.scrollWidth") <= 390
    assert quiet(browser, base), (browser.errors, browser.requests)


@pytest.mark.long
@pytest.mark.parametrize("edition", small_book.EDITIONS)
def test_no_page_has_an_error_and_no_word_of_a_picture_is_cut_off(browser, html, edition):
    # The words of pictures that reach beyond their edge by more than a unit, which nobody would see.
    beyond = """[...document.querySelectorAll('svg.minipod')].flatMap(svg => {
        const edge = svg.viewBox.baseVal, seen = svg.getScreenCTM().inverse()
        return [...svg.querySelectorAll('text')].filter(text => {
            const box = text.getBoundingClientRect()
            const at = (x, y) => new DOMPoint(x, y).matrixTransform(seen)
            const [low, high] = [at(box.left, box.top), at(box.right, box.bottom)]
            return low.x < edge.x - 1 || low.y < edge.y - 1
                || high.x > edge.x + edge.width + 1 || high.y > edge.y + edge.height + 1
        }).map(text => text.textContent)
    })"""
    wrong = {}
    for page in sorted((html / edition).glob("*.html")):
        browser.look(1280)
        browser.open(page.as_uri())
        cut = browser.run(beyond)
        browser.look(390, 844)
        wide = browser.run("document.documentElement.scrollWidth") > 390
        if cut or wide or not quiet(browser, html.as_uri()):
            wrong[page.stem] = (cut, wide, [*browser.errors])
            browser.errors.clear(), browser.requests.clear()
    assert wrong == {}


def test_the_language_switch_keeps_the_section_in_view_and_the_fragment(browser, base):
    there = "location.href.includes('/{}/') && document.readyState === 'complete'"
    browser.open(f"{base}/en/ch03_sharding.html")
    sections = browser.run("[...document.querySelectorAll('article section section')].map(s => s.id)")
    assert len(sections) > 4 and all(s.startswith("sec-") for s in sections)
    wanted = sections[3]
    browser.run(f"document.getElementById('{wanted}').scrollIntoView({{behavior: 'instant'}})")
    browser.run("document.querySelector('.languages a[data-edition=zh-Hans]').click()")
    browser.wait_for(there.format("zh-Hans"))
    assert browser.run("location.hash") == f"#{wanted}"
    browser.wait_for(f"Math.abs(document.getElementById('{wanted}').getBoundingClientRect().top) < 200")
    exercise = browser.run("document.querySelector('[id^=ex-]').id")
    browser.open(f"{base}/zh-Hans/ch03_sharding.html#{exercise}")
    browser.wait_for(f"Math.abs(document.getElementById('{exercise}').getBoundingClientRect().top) < 300")
    browser.run("document.querySelector('.languages a[data-edition=en]').click()")
    browser.wait_for(there.format("en"))
    assert browser.run("location.hash") == f"#{exercise}" and quiet(browser, base), browser.errors


def test_the_root_page_leads_to_an_edition(browser, base):
    browser.open(f"{base}/index.html")
    browser.wait_for("/\\/(en|zh-Hans|zh-Hant)\\/index.html$/.test(location.pathname)")
    browser.open(f"{base}/en/index.html")
    choose = "document.querySelector('.languages a[data-edition=zh-Hans]')?.click()"
    browser.wait_for(f"{choose}, localStorage.getItem('edition') === 'zh-Hans'")
    browser.wait_for("location.pathname.endsWith('/zh-Hans/index.html')")
    browser.wait_for("localStorage.getItem('edition') === 'zh-Hans'")  # the new page sees it, too
    browser.open(f"{base}/index.html")
    browser.wait_for("location.pathname.endsWith('/zh-Hans/index.html')")
