"""`make test SINCE=main`: what a change can affect, and no more."""

import pytest
import since

PAGES = "book/zh-Hans"  # a page named whole would make this file one of that page
CHANGES = [
    (f"{PAGES}/ch07_collectives.md", "tests/publish/text", "tests/publish/book"),
    ("minipod/traffic/bill.py", "tests/minipod/traffic/test_traffic.py", "tests/publish"),
    ("grader/judge/compare.py", "tests/grader/judge", "tests/minipod"),
    ("publish/pages/terms.py", "tests/publish/pages", "tests/grader"),
    ("lessons/ch16_capstone/train.py", "tests/lessons/night", "tests/minipod"),
    ("solutions/ch03_sharding.py", "tests/lessons/test_lessons.py", "tests/minipod"),
    ("publish/recorders/slurm.py", "tests/lessons/launching", "tests/publish/pages"),
    ("Makefile", "tests/start/test_makefile.py", "tests/grader"),
]


def test_the_tests_of_what_changed_run_and_those_of_another_floor_do_not(monkeypatch):
    for file, runs, rests in CHANGES:
        monkeypatch.setattr(since, "changed_since", lambda *_, file=file: {file})
        chosen = since.chosen("main")
        assert any(name.startswith(runs) for name in chosen), file
        assert not any(name.startswith(rests) for name in chosen), file


def test_of_the_cases_of_pages_and_chapters_only_those_that_changed_run(monkeypatch):
    monkeypatch.setattr(since, "changed_since", lambda *_: {"lessons/ch03_sharding/mistakes.py", "book/en/ch04_jit.md"})
    chosen = since.chosen("main")
    checks = chosen[since.CHECK_CHAPTERS]
    assert checks.hold("x::t[ch03_sharding]") and not checks.hold("x::t[ch04_jit]") and checks.hold("x::blanks")
    text = next(which for name, which in chosen.items() if name.startswith(since.READ_PAGES) and which.others)
    assert text.hold("x::t[ch04_jit]") and not text.hold("x::t[zh-Hans-ch05_constraints]") and text.hold("x::t")


def test_what_is_new_has_changed_and_an_unknown_commit_is_one_sentence():
    fresh = since.ROOT / "tests/data/new-and-unknown.txt"
    fresh.touch()
    try:
        assert "tests/data/new-and-unknown.txt" in since.changed_since("HEAD", since.ROOT)
    finally:
        fresh.unlink()
    with pytest.raises(ValueError, match="git cannot compare with “no-such-branch”: "):
        since.changed_since("no-such-branch", since.ROOT)
