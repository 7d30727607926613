"""What is kept from one build to the next is what the function gave, of this code alone, and never an error."""

import pickle

from publish import kept


def test_a_function_of_a_text_is_asked_once_until_the_code_is_another(tmp_path, monkeypatch):
    asked, path = [], tmp_path / "kept"

    @kept.kept
    def length(text):
        asked.append(text)
        return len(text)

    def next_build():
        monkeypatch.setattr(kept, "_before", {})
        monkeypatch.setattr(kept, "_now", {})
        kept.load(path)
        assert [length("abc"), length("abc")] == [3, 3]
        kept.save(path)

    next_build()
    next_build()
    assert asked == ["abc"]
    path.write_bytes(path.read_bytes()[:-9])  # damaged
    next_build()
    path.write_bytes(pickle.dumps(("another", pickle.loads(path.read_bytes())[1])))
    next_build()
    assert asked == ["abc"] * 3
    kept.save(tmp_path / "nowhere" / "kept")  # keeps nothing, and is no error
