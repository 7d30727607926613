"""The built pages in a headless Chromium: they load nothing from elsewhere, and keep the section."""

import functools
import http.server
import re
import threading

import chromium
import pytest

EDITIONS = ("en", "zh-Hans")
needs_chromium = pytest.mark.skipif(chromium.executable() is None, reason="there is no Chromium on this machine")


@pytest.fixture(scope="module", params=["file", "http"])
def base(request, html):
    """The book's address, once from disk and once from a server on this machine."""
    if request.param == "file":
        yield html.as_uri()
        return

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def nothing_noted_yet(request):
    """Errors and requests are those of the test, whichever came before it."""
    if "browser" in request.fixturenames:
        browser = request.getfixturevalue("browser")
        browser.open("about:blank")
        browser.errors.clear(), browser.requests.clear()


def quiet(browser, base):
    """No console error and no request but to the book itself."""
    assert browser.errors == []
    assert [r for r in browser.requests if not r.startswith((base, "data:", "about:"))] == []


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
        assert english.findall((html / "zh-Hans" / f"{page}.html").read_text("utf-8")) == []
        assert english.search((html / "en" / f"{page}.html").read_text("utf-8"))


@needs_chromium
@pytest.mark.parametrize(
    "page", ["index", "start", "ch03_sharding", "ch05_constraints", "ch10_processes", "ch14_launching", "teaching"]
)
def test_no_error_no_outside_request_and_nothing_wider_than_a_phone(browser, base, page):
    for edition in EDITIONS:
        browser.look(390, 844)
        browser.open(f"{base}/{edition}/{page}.html")
        assert browser.run("document.documentElement.scrollWidth") <= 390
    quiet(browser, base)


# The words of pictures that reach beyond their edge by more than a unit, which nobody would see.
CUT = """[...document.querySelectorAll('svg.minipod')].flatMap(svg => {
    const edge = svg.viewBox.baseVal, seen = svg.getScreenCTM().inverse()
    return [...svg.querySelectorAll('text')].filter(text => {
        const box = text.getBoundingClientRect()
        const at = (x, y) => new DOMPoint(x, y).matrixTransform(seen)
        const [low, high] = [at(box.left, box.top), at(box.right, box.bottom)]
        return low.x < edge.x - 1 || low.y < edge.y - 1
            || high.x > edge.x + edge.width + 1 || high.y > edge.y + edge.height + 1
    }).map(text => text.textContent)
})"""


@needs_chromium
@pytest.mark.long
@pytest.mark.parametrize("edition", ["zh-Hans", "en", "zh-Hant"])
def test_no_word_of_a_picture_is_cut_off(browser, html, edition):
    browser.look(1280)
    cut = {}
    for page in sorted((html / edition).glob("*.html")):
        browser.open(page.as_uri())
        if found := browser.run(CUT):
            cut[page.stem] = found
    assert cut == {}


@needs_chromium
def test_the_language_switch_keeps_the_section_in_view(browser, base):
    browser.look(1280)
    browser.open(f"{base}/en/ch03_sharding.html")
    sections = browser.run("[...document.querySelectorAll('article section section')].map(s => s.id)")
    assert len(sections) > 4 and all(s.startswith("sec-") for s in sections)
    wanted = sections[3]
    browser.run(f"document.getElementById('{wanted}').scrollIntoView({{behavior: 'instant'}})")
    browser.run("document.querySelector('.languages a[data-edition=zh-Hant]').click()")
    browser.wait_for("location.href.includes('/zh-Hant/') && document.readyState === 'complete'")
    assert browser.run("location.hash") == f"#{wanted}"
    browser.wait_for(f"Math.abs(document.getElementById('{wanted}').getBoundingClientRect().top) < 200")
    quiet(browser, base)


@needs_chromium
def test_the_language_switch_keeps_the_fragment(browser, base):
    browser.look(1280)
    browser.open(f"{base}/zh-Hans/ch02_pmap.html")
    exercise = browser.run("document.querySelector('[id^=ex-]').id")
    browser.open(f"{base}/zh-Hans/ch02_pmap.html#{exercise}")
    browser.wait_for(f"Math.abs(document.getElementById('{exercise}').getBoundingClientRect().top) < 300")
    browser.run("document.querySelector('.languages a[data-edition=en]').click()")
    browser.wait_for("location.href.includes('/en/') && document.readyState === 'complete'")
    assert browser.run("location.hash") == f"#{exercise}"


@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_light_or_dark_as_the_machine_prefers(browser, base, dark):
    browser.look(1280, dark=dark)
    browser.open(f"{base}/en/start.html")
    browser.wait_for(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
    red = int(re.findall(r"\d+", browser.run("getComputedStyle(document.body).backgroundColor"))[0])
    assert (red < 60) is dark


@needs_chromium
def test_the_root_page_leads_to_an_edition(browser, base):
    browser.open(f"{base}/index.html")
    browser.wait_for("/\\/(en|zh-Hans|zh-Hant)\\/index.html$/.test(location.pathname)")
    browser.open(f"{base}/en/index.html")
    choose = "document.querySelector('.languages a[data-edition=zh-Hant]')?.click()"
    browser.wait_for(f"{choose}, localStorage.getItem('edition') === 'zh-Hant'")
    browser.wait_for("location.pathname.endsWith('/zh-Hant/index.html')")
    browser.wait_for("localStorage.getItem('edition') === 'zh-Hant'")  # the new page sees it, too
    browser.open(f"{base}/index.html")
    browser.wait_for("location.pathname.endsWith('/zh-Hant/index.html')")
