"""An address that was published stays: what others linked to is found there."""

import small_book

from publish import addresses, sync


def entered(folder):
    sync.fill(sync.check(folder))
    return (folder / addresses.LIST).read_text("utf-8").splitlines()[1:]


def test_new_addresses_enter_by_themselves_and_one_that_goes_is_named_and_stays(tmp_path):
    folder = small_book.make(tmp_path)
    before = ["first", "first#sec-first", "first#sec-second", "index", "index#sec-index"]
    assert entered(folder) == before
    assert (sync.check(folder).problems, sync.check(folder).stale) == ([], {})
    small_book.edit(folder, "first", ("(sec-second)=", "(sec-third)="))
    gone = "first#sec-second is gone from the pages: links to it from elsewhere break; put the label back"
    assert sync.check(folder).problems == [gone]
    assert entered(folder) == sorted([*before, "first#sec-third"])


def test_of_a_page_in_one_language_each_label_is_an_address():
    text, gone = addresses.listed(small_book.ROOT / "nowhere", {"one": ["(sec-one)=\n# One"]})
    assert (text.splitlines()[1:], gone) == (["one", "one#sec-one"], [])
    text, _ = addresses.listed(small_book.ROOT / "nowhere", {"one": ["(sec-one)=\n# One", "(sec-two)=\n# 一"]})
    assert text.splitlines()[1:] == ["one"]  # a label in one edition of two is none
