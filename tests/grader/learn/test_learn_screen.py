"""The learner's screen under Textual's pilot: what the keys do, and that a hanging answer never blocks them."""

import asyncio
import itertools
import os
import signal
import time

from checker_runs import answer
from learn_answers import BLANKS, solved
from rich.cells import cell_len
from still_running import DEADLINE, running_with

from grader.learn.overview import Course


def text(app) -> str:
    """All that stands on the screen, in lines."""
    rows = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in row).rstrip() for row in rows)


async def until(pilot, *words: str) -> str:
    """What is seen once all the words are."""
    end = time.monotonic() + DEADLINE
    while not all(word in text(pilot.app) for word in words):
        assert time.monotonic() < end, f"never seen: {words}\n{text(pilot.app)}"
        await pilot.pause(0.2)
    return text(pilot.app)


def session(root, play, lang="en", size=(80, 24)):
    """Play on the screen of a project, by Textual's pilot; nothing is left running."""
    from grader.learn.screen import Learn  # half a second, for who only collects

    async def main() -> None:
        app = Learn(Course(root, lang), 20, 2)
        async with app.run_test(size=size) as pilot:
            await play(pilot)
        app._tick()  # a verdict may come when there is no screen any more

    asyncio.run(main())
    assert running_with("grader.run.service", str(root), seconds=0) == []


def test_from_the_blank_over_a_mistake_a_hint_and_other_exercises_to_what_no_longer_is_right(root, monkeypatch):
    monkeypatch.setattr("grader.learn.screen.NEWS", DEADLINE)  # on a busy machine a look may take longer than 15 s
    both = solved("count_to", "print(*range(1, n + 1), sep='\\n'); return n", solved("double", "return times(x)"))

    async def play(pilot):
        seen = await until(pilot, "todo", "0 of 4 solved", "Twice x, laid out as x is.", "answers/ch90_one.py:7")
        assert "[□]" in seen
        answer(root, "ch90_one", solved("double", "return x * x"))
        await until(pilot, "wrong", "called", "You multiplied x by itself.", "[✗]")
        await pilot.press("h")
        await until(pilot, "Hint 1 of 2 for ch90_one/double: What is twice?")
        answer(root, "ch90_one", solved("double", "return x + x"))
        await until(pilot, "right", "Type n to go on to ch90_one/total.", "1 of 4 solved", "[■]")
        await pilot.press("n")
        await until(pilot, "The sum of x, known to every device.", "answers/ch90_one.py:12")
        await pilot.press("p")
        await until(pilot, "Twice x, laid out as x is.", "right")
        await pilot.press("s")
        assert "Show the solution" not in await until(pilot, "return 2 * x")  # at once where the answer is right
        await pilot.press("escape", "l")
        await until(pilot, "everybody", "Esc back")
        assert pilot.app.screen.query_one("OptionList").highlighted == 1  # below the chapter's name
        await pilot.press("down", "down", "enter")
        await until(pilot, "Print the numbers 1 to n")
        await pilot.press("l", "up", "escape")
        await until(pilot, "Print the numbers 1 to n")
        await pilot.press("p", "p")
        await until(pilot, "Twice x")
        # a save by renaming and of another exercise moves there
        fresh = root / "answers" / "ch90_one.py.new"
        fresh.write_text(solved("count_to", "print(*range(n), sep='\\n'); return n", solved("double", "return x + x")))
        os.replace(fresh, root / "answers" / "ch90_one.py")
        await until(pilot, "Print the numbers 1 to n", "wrong", "range begins at 0.")
        # what was right is checked again when its file changes
        answer(root, "ch90_one", both + "\n\ndef times(x):\n    return 2 * x\n")
        await until(pilot, "2 of 4 solved")
        answer(root, "ch90_one", both + "\n\ndef times(x):\n    return 3 * x\n")
        seen = await until(
            pilot, "1 of 4 solved", "ch90_one/double was right when last checked; the result is now: wrong."
        )
        assert "Print the numbers 1 to n" in seen

    session(root, play)


def test_an_endless_loop_never_blocks_the_keys_reset_and_solution_ask_first_and_a_dead_checker_is_replaced(root):
    mine = solved("double", "return x * x")

    async def play(pilot):
        await until(pilot, "todo")
        answer(root, "ch90_one", solved("double", "import time; time.sleep(1000)"))
        await until(pilot, "checking … 2 s")
        await pilot.press("h")
        await until(pilot, "What is twice?", "checking …")
        await pilot.press("s")
        await until(pilot, "Show the solution of double?")
        answer(root, "ch90_one", mine)  # a save ends it, and its verdict comes while a question is open
        assert "checking" not in await until(pilot, "[✗]", "Show the solution of double?")
        await pilot.press("n")
        seen = await until(pilot, "wrong", "Twice x")
        assert "return 2 * x" not in seen and "hung" not in seen
        await pilot.press("s", "y")
        await until(pilot, "return 2 * x")
        await pilot.press("r")
        await until(pilot, "Undo your work on double")
        await pilot.press("escape")
        await until(pilot, "wrong", "Twice x")
        assert (root / "answers" / "ch90_one.py").read_text() == mine
        await pilot.press("r", "y")
        await until(pilot, "double has been reset", "todo")
        assert (root / "answers" / "ch90_one.py").read_text() == BLANKS
        (kept,) = (root / "answers" / ".kept").iterdir()
        assert kept.read_text().endswith("    return x * x\n")
        os.kill(pilot.app.session.client._process.pid, signal.SIGKILL)
        await until(pilot, "The checker ended unexpectedly (", "and is being started again.")
        answer(root, "ch90_one", solved("double", "return 2 * x"))
        await until(pilot, "1 of 4 solved")

    session(root, play)


def test_of_many_chapters_the_current_one_is_shown_and_titles_are_wrapped_below_themselves(root):
    words = root / "lessons/ch90_one/words.toml"
    title = "The sum of all the numbers that the devices hold, known to each of them"
    words.write_text(words.read_text().replace('title.en = "Total"', f'title.en = "{title}"'))
    facts = 'number = 90\npart = 1\nsolve = 1\ntitle.en = "one"\n'
    (root / "lessons/ch90_one/chapter.toml").write_text(facts)
    page = root / "book/en/ch90_one.md"
    page.parent.mkdir(parents=True)
    page.write_text("# One\n")

    async def play(pilot):
        seen = await until(pilot, "todo", "The chapter: book/en/ch90_one.md", "q quit")
        first = seen.split("\n")[0].split()
        assert first == ["ch90", "[□]□□", "one", "0", "of", "4", "solved"] and "ch91 " not in seen
        await pilot.press("l")
        seen = await until(pilot, "count_to", "Enter go there")
        rows = [line.partition("│")[2] for line in seen.split("\n") if "│" in line]
        at = next(n for n, row in enumerate(rows) if "total" in row)
        assert rows[at + 1].startswith(" ") and rows[at + 1].lstrip().startswith("The sum")
        assert all(word in " ".join(rows[at : at + 5]) for word in title.split())
        # On a busy machine a key that is pressed twice is there before the dialog has gone: it closes it once.
        for _ in range(2):
            pilot.app.simulate_key("enter")
        await until(pilot, "h hint", "q quit")
        await pilot.pause(0.1)
        assert len(pilot.app.screen_stack) == 1

    session(root, play, size=(40, 16))


def test_a_narrow_screen_a_resize_and_no_colours(root, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    # Textual drops a timer of 8 ms, and with it the resize, if its process is stopped as long between two looks at
    # the clock: here always.
    seen = itertools.count()
    monkeypatch.setattr("textual._time.get_time", lambda: time.monotonic() + 0.02 * next(seen))
    exercises, words = root / "lessons" / "ch90_one" / "exercises.py", "每个设备都拿到结果"
    exercises.write_text(exercises.read_text().replace("每个设备都要拿到。", f"{words}。" * 30))
    answer(root, "ch90_one", solved("double", "return x * x"))

    async def play(pilot):
        await until(pilot, "answers/ch90_one.py:7", "有误", "[✗]□□")
        strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
        styles = [segment.style for strip in strips for segment in strip.apply_filter(pilot.app._filters[-1], None)]
        assert all(s is None or s.color is None or s.color.is_default for s in styles)
        await pilot.press("n")
        await until(pilot, words)
        await pilot.resize_terminal(44, 16)
        end = time.monotonic() + DEADLINE
        while max(map(cell_len, (await until(pilot, words, "total · answers")).split("\n"))) > 44:
            assert time.monotonic() < end, text(pilot.app)
            await pilot.pause(0.05)
        await pilot.press("end", "pagedown")
        await until(pilot, "待完成")

    session(root, play, "zh-Hans")


def test_a_blank_that_was_checked_leaves_the_statement_in_view(root):
    async def play(pilot):
        async with asyncio.timeout(DEADLINE):
            while "ch90_one.double" not in pilot.app.course.outcomes:
                await pilot.pause(0.05)
        await pilot.pause(0.5)  # for what scrolls after that
        assert "Twice x, laid out as x is." in text(pilot.app) and pilot.app._body.scroll_y == 0

    session(root, play, size=(40, 12))
