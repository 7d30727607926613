"""`make audit`: what it says of a page, and of a machine or a book that is not ready; gzip as a host has it."""

import functools
import gzip
import re
import urllib.request

import pytest

from publish.audit import run_audit
from publish.audit.run_audit import Row, served, table

GOOD = dict.fromkeys(run_audit.SCORES, 100)


@pytest.fixture
def book(tmp_path):
    (tmp_path / "html" / "en").mkdir(parents=True)
    for page in ("index.html", "en/index.html"):
        (tmp_path / "html" / page).write_text("<p>好</p>" * 100, "utf-8")
    return tmp_path


def test_each_page_and_form_has_a_line_and_what_misses_what_is_promised_is_named_with_each_point():
    assert Row("en/index", "phone", GOOD, 152_000, [], []).misses() == []
    rows = [Row("en/index", form, GOOD, 93_400, [], []) for form in ("phone", "desktop")]
    assert table(rows).splitlines()[1:] == [
        "en/index  phone     100   100   100   100     93    0",
        "en/index  desktop   100   100   100   100     93    0",
    ]
    row = Row("en/index", "phone", GOOD | {"seo": 94}, 152_001, [], ["region (dark): nav"])
    assert row.misses() == [
        "en/index, phone: seo 94, less than 95",
        "en/index, phone: 152,001 bytes, more than 152,000",
        "en/index, phone: axe: region (dark): nav",
    ]
    asked = functools.partial(Row, "en/search?q=x", "phone", faults=[], axe=[])  # may bring its index along
    assert asked(GOOD | {"performance": 75}, 400_000).misses() == []
    assert asked(GOOD | {"performance": 74}, 472_001).misses() == [
        "en/search?q=x, phone: performance 74, less than 75",
        "en/search?q=x, phone: 472,001 bytes, more than 472,000",
    ]
    assert run_audit.file("en/search?q=x") == "en/search.html?q=x" and run_audit.file("en/index") == "en/index.html"


def test_pages_are_served_gzipped_and_what_is_not_there_is_not_found(book):
    with served(book / "html") as base:
        with urllib.request.urlopen(f"{base}/en/") as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(answer.read()).decode() == "<p>好</p>" * 100
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{base}/en/none.html")


def test_what_is_missing_is_said_in_a_sentence(book, tmp_path, monkeypatch, capsys):
    assert run_audit.main(["--build", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == "there is no book yet: run `make book` first\n"
    assert run_audit.main(["--build", str(book), "en/ch99"]) == 2
    assert capsys.readouterr().err == "there is no page en/ch99: name one as en/ch03_sharding\n"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run_audit.main(["--build", str(book), "en/index"]) == 2
    assert capsys.readouterr().err.startswith("not here: node, npm, chromium;")


@pytest.mark.long
def test_a_first_visit_to_any_page_of_the_book_is_light(html):
    """Page, scripts and style sheets, gzipped, each once: less than the audit allows. No other file is fetched.

    What stands in `<noscript>` is for browsers that fetch no script.
    """
    heavy = {}
    for edition in ("en", "zh-Hans", "zh-Hant"):
        folder = html / edition
        weigh = functools.cache(lambda path: len(gzip.compress(path.read_bytes())))
        for page in folder.glob("*.html"):
            text = re.sub(r"(?s)<noscript>.*?</noscript>", "", page.read_text("utf-8"))
            asked = re.findall(r'<(?:script|link)\b[^>]*\b(?:src|href)="(_static/[^"?]+\.(?:js|css))', text)
            weight = weigh(page) + sum(weigh(folder / name) for name in set(asked))
            assert len(asked) > 8
            if weight > run_audit.HEAVIEST:
                heavy[f"{edition}/{page.stem}"] = weight
    assert heavy == {}
