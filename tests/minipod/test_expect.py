"""`expect_error` prints a short quotation, and fails when the error is gone or another."""

import jax
import jax.numpy as jnp
import pytest

from minipod.expect import expect_error, quote


def test_an_expected_error_is_printed_and_the_program_goes_on(capsys: pytest.CaptureFixture[str]):
    with expect_error(ValueError, "bad"):
        raise ValueError("a bad   shard\nof 3")
    with expect_error((TypeError, LookupError)):  # or a subclass
        {}["x"]
    with expect_error(AssertionError):
        raise AssertionError
    assert capsys.readouterr().out == (
        "ValueError: a bad shard of 3\nKeyError: 'x'\nAssertionError (without a message)\n"
    )


def test_nothing_raised_and_another_error_or_message_are_failures_that_say_so():
    expected = "expected ValueError with 'in_specs' in its message, "
    with pytest.raises(AssertionError, match=expected + "but nothing was raised"), expect_error(ValueError, "in_specs"):
        pass
    for raised in (TypeError("in_specs"), ValueError("out_specs")):
        with pytest.raises(AssertionError, match=f"{expected}.* {type(raised).__name__}: "):
            with expect_error(ValueError, "in_specs"):
                raise raised
    with pytest.raises(KeyboardInterrupt), expect_error(ValueError):
        raise KeyboardInterrupt


LONG = "First come sixty characters, and they make a whole sentence here. " + "Then more. " * 60
LATE = "Filler without an end " * 30 + "and then: the in_specs are wrong here. Tail. " + "tail " * 100


@pytest.mark.parametrize("text", ["", "in_specs"])
def test_a_quotation_has_at_most_three_lines_of_78_columns_and_holds_the_text(text: str):
    for message in (LONG, LATE, "x" * 2000, "word " * 400, "a. b. c. " * 100):
        message = message if text in message else message[:300] + f" {text} " + message[300:]
        lines = quote(ValueError(message), text).split("\n")
        assert len(lines) <= 3 and all(len(line) <= 78 for line in lines), message
        assert lines[0].startswith("ValueError: ") and text in "".join(lines), message


def test_a_quotation_ends_with_the_first_sentence_that_is_enough_and_what_jax_says_today_fits():
    assert quote(ValueError(LONG)).replace("\n", " ") == "ValueError: " + LONG.partition(". ")[0] + "."
    with pytest.raises(TypeError) as caught:
        jnp.add(jnp.ones(3), jnp.ones(4))
    words = quote(caught.value, "(3,)")
    assert words.startswith("TypeError: add got incompatible shapes") and "(3,)" in words
    with pytest.raises(Exception) as caught:
        jax.jit(lambda x: 1 if x > 0 else 0)(1.0)
    assert quote(caught.value, "traced array").count("\n") <= 2
