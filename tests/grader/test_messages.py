"""Messages are read one by one, and are what the whole files say."""

import pytest

from grader.messages import LANGUAGES, MESSAGES, _entry, pick, read, say


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_message_read_alone_is_what_the_whole_files_say(lang):
    for key, entry in read(MESSAGES).items():
        assert pick(_entry(key, lang), lang) == pick(entry, lang), key


def test_a_message_that_there_is_not_is_a_key_error():
    with pytest.raises(KeyError, match="not-there"):
        say("not-there", "en")
