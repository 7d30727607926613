"""The search of the built book: what is in its index, what readers' questions find, and what another search finds."""

import gzip
import itertools
import json
import random
import re
import shutil
import string
import subprocess
import tomllib

import javascript
import pytest
import small_book
from bs4 import BeautifulSoup

from publish.reference import then_and_now
from publish.search import index, sections, synonyms

ENGINE = (small_book.ROOT / "book" / "_static" / "search.js").read_text("utf-8")
QUERIES = tomllib.loads((small_book.ROOT / "tests" / "data" / "search_queries.toml").read_text("utf-8"))
FOUND = "const found = (q) => search.find(q).map((row) => window.searchIndex.docs[row.doc][1]);"
EDITIONS = ("en", "zh-Hans", "zh-Hant")
PAGE = """<article class="bd-article"><section id="sec-a"><p class="chapter">Chapter 1</p><h1>A <code>title</code>
<a class="headerlink" href="#sec-a">#</a></h1><p>Some &lt;prose&gt;.</p>
<div class="mistake admonition"><p class="admonition-title">A <em>box</em></p><p>In it.</p></div>
<section id="sec-b"><h2>Below</h2>
<div class="cell"><pre><span class="k">x</span> = 1</pre></div><svg><text>no</text></svg>
<details class="oldest"><summary>With JAX 0.10.2</summary><pre>x = 2</pre></details>
<div class="exercise admonition" id="ex-c"><p class="admonition-title">Exercise 1</p><p>Do.</p>
<details><summary>Hint</summary><p>Secret.</p><pre>solve()</pre></details></div>
<p>More.</p></section></section></article><section id="sec-d"><h2>Not of the article</h2></section>"""


@pytest.fixture(scope="module")
def html():
    return small_book.real_book()


def script(html, edition: str) -> str:
    return (html / edition / "_static" / index.NAME).read_text("utf-8")


def read(html, edition: str) -> dict:
    text = script(html, edition)
    return json.loads(text[text.index("{") : text.rindex(";")])


def test_a_page_is_its_sections_and_exercises_each_with_its_own_words():
    found = sections.sections(PAGE)
    assert [(s.anchor, s.title.split()) for s in found] == [
        ("sec-a", ["A", "title"]),
        ("sec-b", ["Below"]),
        ("ex-c", ["Exercise", "1"]),
    ]
    a, b, exercise = found
    assert "".join(a.prose).split() == ["Some", "<prose>.", "In", "it."] and a.inner == ["A box"]
    assert "".join(b.prose).split() == ["More."] and b.code == ["x = 1"]
    assert "".join(exercise.prose).split() == ["Do."] and exercise.code == ["solve()"]


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_section_and_exercise_of_every_page_is_in_the_index_and_no_other(html, edition):
    found = read(html, edition)
    anchors = {(row[0], row[1]) for row in found["docs"]}
    assert len(anchors) + len(then_and_now.names()) == len(found["docs"])  # these lead to the section of all of them
    there = set()
    for path in (html / edition).glob("*.html"):
        article = path.read_text("utf-8").partition("<article")[2]
        if path.stem not in ("search", "genindex"):
            there |= {(path.stem, i) for i in re.findall(r'<section [^>]*\bid="([\w-]+)"', article)}
            there |= {(path.stem, i) for i in re.findall(r'<div [^>]*\bid="(ex-[\w-]+)"', article)}
    assert anchors == there and len(there) > 250
    # Of 24 chapters and ten pages more; loaded when somebody searches.
    size = len(gzip.compress(script(html, edition).encode()))
    assert size < 340_000


def test_the_index_of_an_unchanged_book_is_the_same_whoever_made_it(html, tmp_path):
    shutil.copytree(html / "en", tmp_path / "en", ignore=shutil.ignore_patterns("_static", "notebooks"))
    pages = {row[0]: None for row in read(html, "en")["docs"]}
    index.write(tmp_path / "en", list(pages))
    assert (tmp_path / "en" / "_static" / index.NAME).read_text("utf-8") == script(html, "en")


def places(html, edition: str, queries: dict[str, str]) -> dict[str, int]:
    """Where the right section of each query comes among what is found: 0 is first, 99 nowhere."""
    ask = f"const search = makeSearch(window.searchIndex); {FOUND}"
    found = javascript.value(f"{ENGINE}\n{script(html, edition)}\n{ask}", f"{json.dumps(list(queries))}.map(found)")
    return {
        query: next((n for n, anchor in enumerate(anchors) if anchor in right.split()), 99)
        for (query, right), anchors in zip(queries.items(), found, strict=True)
    }


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_readers_ask_is_answered(html, edition):
    asked = QUERIES[edition]
    known = {row[1] for row in read(html, edition)["docs"]}
    assert len(asked) == 30 and {s for right in asked.values() for s in right.split()} <= known
    found = places(html, edition, asked)
    late = {q: n for q, n in found.items() if n > 0}
    assert sum(n < 3 for n in found.values()) >= 0.95 * len(asked), late
    assert sum(n == 0 for n in found.values()) >= 0.8 * len(asked), late
    later = places(html, edition, QUERIES[f"later-{edition}"])
    assert sum(n < 3 for n in later.values()) >= 0.9 * len(later), later


# Words that readers may bring along; which of them the pages have, and in other words, the test finds out by itself.
BROUGHT = {
    "en": "tensorflow lustre keras julia fortran nccl gloo optax mesh deadlock zorp all_gather psum_scatterer Horovod",
    "zh-Hans": "葡萄牙 鸿蒙 分片 死锁 集合通信 猕猴桃 keras 流水线",
    "zh-Hant": "葡萄牙 鴻蒙 分片 死結 集合通訊 獼猴桃 keras 管線",
}


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_word_is_said_to_be_absent_exactly_where_no_page_has_it(html, edition):
    pages = [path for path in (html / edition).glob("*.html") if path.stem not in ("search", "genindex")]
    articles = [BeautifulSoup(path.read_text("utf-8"), "html.parser").find("article") for path in pages]
    text = "".join(article.get_text() for article in articles).lower()
    words = BROUGHT[edition].split()
    asked = [*QUERIES[edition], *QUERIES[f"later-{edition}"], *words]
    ask = f"(s => {json.dumps(asked)}.map(q => s.absent(q).words))(makeSearch(window.searchIndex))"
    found = dict(zip(asked, javascript.value(f"{ENGINE}\n{script(html, edition)}", ask), strict=True))
    wrong = {query: said for query, said in found.items() if any(word.lower() in text for word in said)}
    assert wrong == {}
    assert [word for word in words if word.lower() not in text] == [word for word in words if found[word]]
    assert 3 <= sum(word.lower() not in text for word in words) < len(words) - 2


@pytest.mark.parametrize("edition", EDITIONS)
def test_what_old_code_imports_is_found_among_the_first_three(html, edition):
    names = [name.old for name in then_and_now.names()]
    alone = {name.rpartition(".")[2] for name in names} - {"Mesh", "with_sharding_constraint"}  # JAX has both elsewhere
    queries = [*names, *sorted(alone)]
    ask = f"const search = makeSearch(window.searchIndex); {FOUND}"
    found = javascript.value(f"{ENGINE}\n{script(html, edition)}\n{ask}", f"{json.dumps(queries)}.map(found)")
    late = [q for q, anchors in zip(queries, found, strict=True) if then_and_now.NAMES not in anchors[:3]]
    assert len(names) > 15 and late == []


TRACE = [
    "Traceback (most recent call last):",
    '  File "/home/me/train.py", line 88, in <module>',
    "    main()",
    '  File "/home/me/train.py", line 61, in main',
    "    state = train_step(state, batch, mesh)",
    "            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
]
AFTER = [
    "--------------------",
    "For simplicity, JAX has removed its internal frames from the traceback of the following exception.",
]


def pasted(error: str) -> list[str]:
    """As people paste it: with its lines, as a box for one line joins them, and with what JAX says of its frames."""
    lines = [*TRACE, error]
    return ["\n".join(lines), "".join(lines), "\n".join([*lines, *AFTER])]


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_error_is_found_with_its_traceback_as_it_is_without(html, edition):
    page = BeautifulSoup((html / edition / "errors.html").read_text("utf-8"), "html.parser")
    shown = [(box.pre or box.h3).get_text(" ", strip=True).removesuffix(" #") for box in page.select('[id^="err-"]')]
    python = [error for error in shown if re.match(r"[\w.]*(Error|Exception|Warning)", error)]
    assert len(python) > 30
    queries = [[error, *pasted(error)] for error in python]
    ask = f"const search = makeSearch(window.searchIndex); {FOUND}"
    found = javascript.value(
        f"{ENGINE}\n{script(html, edition)}\n{ask}", f"{json.dumps(queries)}.map(q => q.map(found))"
    )
    lost = [
        error for error, (alone, *others) in zip(python, found, strict=True) if any(o[:3] != alone[:3] for o in others)
    ]
    assert lost == []


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
        return (
            found
            | {a + c + b for a, b in cuts for c in letters}
            | {a + c + b[1:] for a, b in cuts if b for c in letters}
        )

    some = ["".join(words.choices(letters, k=words.randint(1, 6))) for _ in range(40)]
    pairs = list(itertools.product(some, some))
    said = javascript.value(ENGINE, f"{json.dumps(pairs)}.map(([a, b]) => near(a, b))")
    assert said == [a == b or b in one_off(a) for a, b in pairs] and 100 < sum(said) < 1500


def test_english_words_meet_in_their_stem_and_others_do_not():
    rows = [
        ("deadlock", "deadlocks"),
        ("shard", "sharded", "sharding", "shards"),
        ("process", "processes"),
        ("communicate", "communication", "communicating"),
        ("copy", "copies"),
        ("pad", "padded", "padding"),
        ("axis",),
        ("axes",),
        ("string",),
        ("device", "devices"),
        ("mesh", "meshes"),
    ]
    stems = [javascript.value(ENGINE, f"{json.dumps(row)}.map(stem)") for row in rows]
    assert [len(set(row)) for row in stems] == [1] * len(rows)
    assert len({row[0] for row in stems}) == len(rows)


def test_words_that_taiwan_says_otherwise_are_paired_and_mere_other_characters_are_not():
    pairs = dict(synonyms.regional())
    assert pairs["异步"] == "非同步" and pairs["流水线"] == "管線" and pairs["网络"] == "網路"
    assert "环形" not in pairs and not any("着" in word for word in pairs)


def test_characters_fold_to_those_that_the_text_has():
    pairs = synonyms.characters("网格 gather 網")
    assert dict(zip(pairs[::2], pairs[1::2], strict=True))["網"] == "网" and len(pairs) % 2 == 0
    assert "環" not in synonyms.characters("网格")


@pytest.mark.long
def test_a_library_finds_the_same_sections_and_answers_no_better(html, tmp_path_factory):
    """MiniSearch, over the same terms: the sections that have a word are the same, and fewer questions come first."""
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        pytest.skip("Node and npm are not on this machine: MiniSearch comes from there")
    folder = tmp_path_factory.mktemp("minisearch")
    got = subprocess.run([npm, "install", "minisearch@7.2.0"], cwd=folder, capture_output=True, text=True, timeout=300)
    if got.returncode:
        pytest.skip("npm cannot reach a registry: MiniSearch comes from there")
    for edition in EDITIONS:
        asked = QUERIES[edition] | QUERIES[f"later-{edition}"]
        oracle = f"""
            const MiniSearch = require("module").createRequire({json.dumps(f"{folder}/")})("minisearch");
            const docs = window.searchIndex.docs, search = makeSearch(window.searchIndex);
            const keys = (text) => terms(text, new Map()).map((t) => t.term);
            const fields = ["title", "inner", "prose", "errors", "names", "page"];
            const mini = new MiniSearch({{ fields, tokenize: keys, processTerm: (term) => term,
              searchOptions: {{ boost: {{ title: 3 }}, fuzzy: 0.2 }} }});
            const named = (doc) => Object.fromEntries(fields.map((field, i) => [field, [...doc.slice(2),
              doc[2] === window.searchIndex.pages[doc[0]] ? "" : window.searchIndex.pages[doc[0]]][i]]));
            mini.addAll(docs.map((doc, id) => ({{ id, ...named(doc) }})));
            const exact = (word) => mini.search(word, {{ fuzzy: false }}).map((row) => row.id).sort((a, b) => a - b);
            const has = (word) => search.holding(keys(word)[0]).sort((a, b) => a - b);"""
        prelude = f"{ENGINE}\n{script(html, edition)}\n{oracle}"
        words = sorted({w for row in read(html, edition)["docs"] for w in re.findall(r"\b[a-z]{4,9}\b", row[4])})
        some = random.Random(3).sample([w for w in words if set(w) <= set(string.ascii_lowercase)], 200)
        ours, theirs = javascript.value(prelude, f"[{json.dumps(some)}.map(has), {json.dumps(some)}.map(exact)]")
        assert ours == theirs and all(ours)
        first = f"{json.dumps(list(asked))}.map((q) => mini.search(q).slice(0, 1).map((row) => docs[row.id][1]))"
        answers = javascript.value(prelude, first)
        by_library = sum(bool(a) and a[0] in right.split() for a, right in zip(answers, asked.values(), strict=True))
        by_ours = sum(n == 0 for n in places(html, edition, asked).values())
        print(f"{edition}: the right section first, of {len(asked)}: MiniSearch {by_library}, ours {by_ours}")
        assert by_ours > by_library
