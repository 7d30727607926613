"""The search of the built book: what is in its index, and what readers' questions find."""

import functools
import gzip
import itertools
import json
import random
import re
import tomllib
from html import unescape

import javascript
import pytest
from bs4 import BeautifulSoup
from small_book import each_edition

from publish.page import ROOT
from publish.reference import then_and_now
from publish.search import index, sections, synonyms

ENGINE = (ROOT / "book" / "_static" / "search.js").read_text("utf-8")
PAGE = """<article class="bd-article"><section id="sec-a"><p class="chapter">Chapter 1</p><h1>A <code>title</code>
<a class="headerlink" href="#sec-a">#</a></h1><p>Some &lt;prose&gt;.</p>
<div class="mistake admonition"><p class="admonition-title">A <em>box</em></p><p>In it.</p></div>
<section id="sec-b"><h2>Below</h2>
<div class="cell"><pre><span class="k">x</span> = 1</pre></div><svg><text>no</text></svg>
<details class="oldest"><summary>With JAX 0.10.2</summary><pre>x = 2</pre></details>
<div class="exercise admonition" id="ex-c"><p class="admonition-title">Exercise 1</p><p>Do.</p>
<details><summary>Hint</summary><p>Secret.</p><pre>solve()</pre></details></div>
<p>More.</p></section></section></article><section id="sec-d"><h2>Not of the article</h2></section>"""


def script(html, edition: str) -> str:
    return (html / edition / "_static" / index.NAME).read_text("utf-8")


def ask(html, edition: str, expression: str):
    """What a JavaScript expression gives; `search` is that of the edition, `found` are the places of a question."""
    found = "const found = (q) => search.find(q).map((row) => window.searchIndex.docs[row.doc][1]);"
    made = f"const search = makeSearch(window.searchIndex); {found}"
    return javascript.value(f"{ENGINE}\n{script(html, edition)}\n{made}", expression)


@functools.cache
def queries() -> dict[str, dict[str, str]]:
    return tomllib.loads((ROOT / "tests" / "data" / "search_queries.toml").read_text("utf-8"))


def articles(html, edition: str) -> dict[str, str]:
    """The pages that are searched: name → the markup of the article."""
    pages = (path for path in (html / edition).glob("*.html") if path.stem not in ("search", "genindex"))
    texts = ((path.stem, path.read_text("utf-8")) for path in pages)
    return {name: text.partition("<article")[2].partition("</article>")[0] for name, text in texts}


def test_a_page_is_its_sections_and_exercises_each_with_its_own_words():
    a, b, exercise = found = sections.sections(PAGE)
    titles = [("sec-a", ["A", "title"]), ("sec-b", ["Below"]), ("ex-c", ["Exercise", "1"])]
    assert [(s.anchor, s.title.split()) for s in found] == titles
    assert "".join(a.prose).split() == ["Some", "<prose>.", "In", "it."] and a.inner == ["A box"]
    assert "".join(b.prose).split() == ["More."] and b.code == ["x = 1"]
    assert "".join(exercise.prose).split() == ["Do."] and exercise.code == ["solve()"]


@each_edition
def test_every_section_and_exercise_of_every_page_is_in_the_index_and_no_other(html, edition):
    docs = ask(html, edition, "window.searchIndex.docs")
    anchors = {(row[0], row[1]) for row in docs}
    assert len(anchors) + len(then_and_now.names()) == len(docs)  # these lead to the section of all of them
    there = set()
    for name, article in articles(html, edition).items():
        there |= {(name, i) for i in re.findall(r'<section [^>]*\bid="([\w-]+)"', article)}
        there |= {(name, i) for i in re.findall(r'<div [^>]*\bid="(ex-[\w-]+)"', article)}
    assert anchors == there and len(there) > 250
    # Of 24 chapters and ten pages more; loaded when somebody searches.
    assert len(gzip.compress(script(html, edition).encode())) < 350_000


@each_edition
def test_what_readers_ask_is_answered(html, edition):
    asked, later = queries()[edition], queries()[f"later-{edition}"]
    known = {row[1] for row in ask(html, edition, "window.searchIndex.docs")}
    assert len(asked) == 30 and {s for right in asked.values() for s in right.split()} <= known
    rows = ask(html, edition, f"{json.dumps([*(asked | later)])}.map(found)")
    found = {  # where its right section comes: 0 is first, 99 nowhere
        query: next((n for n, anchor in enumerate(anchors) if anchor in right.split()), 99)
        for (query, right), anchors in zip((asked | later).items(), rows, strict=True)
    }
    late = {q: n for q, n in found.items() if n > 0}
    assert sum(found[q] < 3 for q in asked) >= 0.95 * len(asked), late
    assert sum(found[q] == 0 for q in asked) >= 0.8 * len(asked), late
    assert sum(found[q] < 3 for q in later) >= 0.9 * len(later), late


# Words that readers may bring along; which of them the pages have, and in other words, the test finds out by itself.
BROUGHT = {
    "en": "tensorflow lustre keras julia fortran nccl gloo optax mesh deadlock zorp all_gather psum_scatterer Horovod",
    "zh-Hans": "葡萄牙 鸿蒙 分片 死锁 集合通信 猕猴桃 keras 流水线",
    "zh-Hant": "葡萄牙 鴻蒙 分片 死結 集合通訊 獼猴桃 keras 管線",
}


@each_edition
def test_a_word_is_said_to_be_absent_exactly_where_no_page_has_it(html, edition):
    plain = (re.sub("<[^>]+>", "", text) for text in articles(html, edition).values())
    text, words = unescape("".join(plain)).lower(), BROUGHT[edition].split()
    asked = [*queries()[edition], *queries()[f"later-{edition}"], *words]
    said = ask(html, edition, f"{json.dumps(asked)}.map(q => search.absent(q).words)")
    found = dict(zip(asked, said, strict=True))
    assert {query: said for query, said in found.items() if any(word.lower() in text for word in said)} == {}
    assert [word for word in words if word.lower() not in text] == [word for word in words if found[word]]
    assert 3 <= sum(word.lower() not in text for word in words) < len(words) - 2


@each_edition
def test_what_old_code_imports_is_found_among_the_first_three(html, edition):
    names = [name.old for name in then_and_now.names()]
    alone = {name.rpartition(".")[2] for name in names} - {"Mesh", "with_sharding_constraint"}  # JAX has both elsewhere
    asked = [*names, *sorted(alone)]
    found = ask(html, edition, f"{json.dumps(asked)}.map(found)")
    late = [q for q, anchors in zip(asked, found, strict=True) if then_and_now.NAMES not in anchors[:3]]
    assert len(names) > 15 and late == []


TRACE = """Traceback (most recent call last):
  File "/home/me/train.py", line 88, in <module>
    main()
  File "/home/me/train.py", line 61, in main
    state = train_step(state, batch, mesh)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^""".splitlines()
AFTER = ["-" * 20, "For simplicity, JAX has removed its internal frames from the traceback of the following exception."]


@pytest.mark.parametrize("edition", ["en", *(pytest.param(e, marks=pytest.mark.long) for e in ("zh-Hans", "zh-Hant"))])
def test_an_error_is_found_with_its_traceback_as_it_is_without(html, edition):
    """As people paste it: with its lines, as a box for one line joins them, and with what JAX says of its frames."""
    page = BeautifulSoup((html / edition / "errors.html").read_text("utf-8"), "html.parser")
    shown = [(box.pre or box.h3).get_text(" ", strip=True).removesuffix(" #") for box in page.select('[id^="err-"]')]
    python = [error for error in shown if re.match(r"[\w.]*(Error|Exception|Warning)", error)]
    assert len(python) > 30
    traces = [[*TRACE, error] for error in python]
    asked = [[t[-1], "\n".join(t), "".join(t), "\n".join([*t, *AFTER])] for t in traces]
    found = ask(html, edition, f"{json.dumps(asked)}.map(q => q.map(found))")
    rows = zip(python, found, strict=True)
    assert [error for error, (alone, *others) in rows if any(o[:3] != alone[:3] for o in others)] == []


def test_of_a_traceback_only_the_error_is_asked():
    cases = {
        "sharding": "sharding",
        'File "a.py", line 3': "",
        "ValueError: no frame, so all of it": "ValueError: no frame, so all of it",
        'File "a.py", line 3, in f y = g(x) a.RuntimeError: X: ValueError: it': "a.RuntimeError: X: ValueError: it",
        'File "a.py", line 3, in f raise ValueError("x") KeyError: \'x\'': "KeyError: 'x'",
        'File "a.py", line 3, in f wait() KeyboardInterrupt': "KeyboardInterrupt",
    }
    assert javascript.value(ENGINE, f"{json.dumps(list(cases))}.map(asked)") == list(cases.values())


def test_one_typing_error_and_no_more_is_forgiven():
    words, letters = random.Random(7), "abc"

    def one_off(word: str) -> set[str]:
        """Every string that one letter more, less, changed, or two neighbours exchanged make of a word."""
        cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
        found = {a + b[1:] for a, b in cuts if b} | {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
        return found | {a + c + rest for a, b in cuts for c in letters for rest in (b, b[1:])}

    some = ["".join(words.choices(letters, k=words.randint(1, 6))) for _ in range(40)]
    pairs = list(itertools.product(some, some))
    said = javascript.value(ENGINE, f"{json.dumps(pairs)}.map(([a, b]) => near(a, b))")
    assert said == [a == b or b in one_off(a) for a, b in pairs] and 100 < sum(said) < 1500


def test_english_words_meet_in_their_stem_and_others_do_not():
    rows = [
        "deadlock deadlocks", "shard sharded sharding shards", "process processes", "pad padded padding", "copy copies",
        "communicate communication communicating", "device devices", "mesh meshes", "axis", "axes", "string",
    ]  # fmt: skip
    stems = javascript.value(ENGINE, f"{json.dumps([row.split() for row in rows])}.map(row => row.map(stem))")
    assert [len(set(row)) for row in stems] == [1] * len(rows) and len({row[0] for row in stems}) == len(rows)


def test_what_taiwan_says_otherwise_is_paired_and_mere_other_characters_fold_to_those_that_the_text_has():
    pairs = dict(synonyms.regional())
    assert pairs["异步"] == "非同步" and pairs["流水线"] == "管線" and pairs["网络"] == "網路"
    assert "环形" not in pairs and not any("着" in word for word in pairs)
    folded = synonyms.characters("网格 gather 網")
    assert dict(zip(folded[::2], folded[1::2], strict=True))["網"] == "网" and len(folded) % 2 == 0
    assert "環" not in synonyms.characters("网格")
