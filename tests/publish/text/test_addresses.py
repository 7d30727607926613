"""An address that was published stays: what others linked to is found there."""

from publish import addresses


def test_every_address_of_the_book_is_listed_and_none_is_gone(capsys):
    assert addresses.main([]) == 0, capsys.readouterr().out


def test_a_label_that_goes_is_named_and_is_not_taken_out(tmp_path, monkeypatch, capsys):
    kept = tmp_path / "addresses.txt"
    monkeypatch.setattr(addresses, "LIST", kept)
    monkeypatch.setattr(addresses, "on_pages", lambda edition: {"ch03", "ch03#a", "ch03#b"})
    assert addresses.main([]) == 1 and "ch03#a is new" in capsys.readouterr().out
    assert addresses.main(["--accept"]) == 0 and addresses.main([]) == 0
    before = kept.read_text()
    monkeypatch.setattr(addresses, "on_pages", lambda edition: {"ch03", "ch03#b", "ch03#c"})
    capsys.readouterr()
    assert addresses.main(["--accept"]) == 1
    assert capsys.readouterr().out.startswith("ch03#a is gone") and kept.read_text() == before


def test_a_label_in_one_edition_only_is_no_address(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(addresses, "LIST", tmp_path / "none.txt")
    monkeypatch.setattr(addresses, "on_pages", lambda edition: {"ch03", f"ch03#{edition}"})
    assert addresses.main([]) == 1
    assert capsys.readouterr().out == "ch03 is new: enter it with --accept\n"
