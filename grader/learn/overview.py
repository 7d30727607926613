"""Hold the exercises, the state of each, and the current one, as a learner sees them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grader.exercise import chapters, function_text, progress
from grader.exercise.lesson_words import exercise_words, lesson_words
from grader.exercise.statements import nearest, statement
from grader.home import home
from grader.messages import pick, read_texts, say
from grader.say.blocks import Block, block, place
from grader.say.checked import Checked


@dataclass
class Course:
    """The exercises of the project at `root`, with the known outcomes of the answers.

    outcomes  the last known outcome of each exercise; an answers file may have changed since
    verdicts  the checker's replies of this session
    hints     the hints asked for in this session
    warning   why the results could not be saved, in a sentence; empty otherwise
    """

    root: Path
    lang: str
    home: Path = field(init=False)
    answers: Path = field(init=False)
    exercises: list[str] = field(init=False)
    current: str = field(init=False)
    outcomes: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, Checked] = field(default_factory=dict)
    hints: dict[str, list[str]] = field(default_factory=dict)
    warning: str = ""

    def __post_init__(self) -> None:
        """Read the records of earlier sessions. Raises OSError, SyntaxError or ValueError if there are no lessons."""
        self.home = home(self.root)
        self.answers = self.home / "answers"
        self.read_exercises()
        state = progress.load_state(self.answers)
        for exercise in self.exercises:
            if outcome := progress.cached_outcome(self.answers, exercise, state):
                self.outcomes[exercise] = outcome
        last = state.get("current")
        unsolved = (e for e in self.exercises if not self.is_right(e))
        self.current = last if last in self.exercises else next(unsolved, self.exercises[0])

    def read_exercises(self) -> None:
        """Read the list of exercises, for the first time or again. Raises ValueError if it is empty."""
        self.exercises = progress.all_exercises(self.root / "lessons")
        if not self.exercises:
            raise ValueError(say("learn-nothing", self.lang, folder=self.root / "lessons"))
        lesson_words.cache_clear()

    # ---- the exercise at hand ----

    def begin_at(self, place: str) -> None:
        """Begin at `ch03`, with its first exercise that is not right, or `ch03/NAME`. Raises ValueError if unknown."""
        chapter, _, name = place.partition("/")
        lesson = next(iter(chapters.named(self.root / "lessons", chapter)), "")
        exercises = self.of(lesson)
        if not exercises:
            known = ", ".join(dict.fromkeys(e.partition(".")[0] for e in self.exercises))
            raise ValueError(say("check-chapter", self.lang, chapter=chapter, known=known))
        if name and f"{lesson}.{name}" not in exercises:
            known = ", ".join(e.partition(".")[2] for e in exercises)
            raise ValueError(say("learn-exercise", self.lang, chapter=lesson, name=name, known=known))
        unsolved = (e for e in exercises if not self.is_right(e))
        self.current = f"{lesson}.{name}" if name else next(unsolved, exercises[0])

    def go(self, exercise: str) -> None:
        """Make an exercise the current one, also for the next session."""
        self.current = exercise
        self._save({}, exercise)

    def step(self, by: int) -> str:
        """Return the exercise `by` places further on, wrapping around at the end."""
        return self.exercises[(self.exercises.index(self.current) + by) % len(self.exercises)]

    def following(self) -> str:
        """Return the exercise to which `n` leads: the next one or, after a right answer, the next that is not right."""
        if self.is_right(self.current):
            at = self.exercises.index(self.current)
            unsolved = (e for e in self.exercises[at + 1 :] + self.exercises[:at] if not self.is_right(e))
            return next(unsolved, self.step(1))
        return self.step(1)

    def title(self, exercise: str) -> str:
        """Return the exercise's title in the learner's language, or its name."""
        title = exercise_words(self.root / "lessons", exercise).title
        return pick(title, self.lang, exercise.partition(".")[2])

    def place(self, exercise: str) -> str:
        """Return the place of the exercise's answer: `answers/ch03_sharding.py:14`."""
        return place(self.root, self.answers, exercise, progress.line_of(self.answers, exercise))

    def page(self, exercise: str) -> str:
        """Return the page of the exercise's chapter, in the learner's language; empty if there is no book."""
        return progress.page_of(self.root, exercise, self.lang)

    def chapter(self, lesson: str) -> str:
        """Return a chapter's title in the learner's language, or nothing if it has none."""
        try:
            lessons = self.root / "lessons"
            title = read_texts(lessons / lesson / chapters.FILE).get("title", {})
            return nearest(title | read_texts(lessons / chapters.TITLES).get(lesson, {}), self.lang)
        except (OSError, ValueError, AttributeError):
            return ""  # an author is at work on the lesson

    def statement(self, exercise: str) -> str:
        """Return the exercise's statement, as Markdown."""
        try:
            return statement(self.root / "lessons", exercise, self.lang)
        except (OSError, SyntaxError, KeyError):
            return ""  # an author is at work on the lesson

    def solution(self, exercise: str) -> str:
        """Return the text of the solution. Raises OSError or UnicodeDecodeError."""
        lesson, _, name = exercise.partition(".")
        return function_text.text_of(self.root / "solutions" / f"{lesson}.py", name) or ""

    def hint(self) -> str:
        """Return the next hint for the current exercise; after the last one, the last again."""
        text, warning = progress.next_hint(self.root / "lessons", self.answers, self.current, self.lang)
        self.warning = warning or self.warning
        given = self.hints.setdefault(self.current, [])
        if text not in given:
            given.append(text)
        return text

    # ---- how far the learner is ----

    def note(self, checked: Checked) -> None:
        """Save a reply of the checker, for the next session and for pytest, too."""
        self.verdicts[checked.exercise], self.outcomes[checked.exercise] = checked, checked.outcome
        self._save({checked.exercise: (checked.outcome, checked.answer)})

    def _save(self, outcomes: dict[str, tuple[str, str]], current: str | None = None) -> None:
        self.warning = progress.save_state(self.answers, outcomes, self.lang, current) or self.warning

    def block(self, exercise: str) -> Block | None:
        """Return the report on the exercise's verdict, the same as pytest's; None while it has none."""
        checked = self.verdicts.get(exercise)
        return block(self.root, self.answers, self.lang, checked) if checked else None

    def is_right(self, exercise: str) -> bool:
        """Return whether the exercise was right when it was last checked."""
        return self.outcomes.get(exercise) == "right"

    def is_up_to_date(self, exercise: str) -> bool:
        """Return whether the exercise's outcome is that of the current answers file."""
        return progress.cached_outcome(self.answers, exercise, progress.load_state(self.answers)) is not None

    def of(self, lesson: str) -> list[str]:
        """Return a lesson's exercises, in order."""
        return [e for e in self.exercises if e.partition(".")[0] == lesson]

    def lessons(self) -> Iterable[str]:
        """Return the lessons that have exercises, in order."""
        return dict.fromkeys(e.partition(".")[0] for e in self.exercises)

    def solved(self) -> str:
        """Return «3 of 12 solved»."""
        count = sum(map(self.is_right, self.exercises))
        return say("solved-all", self.lang, solved=count, total=len(self.exercises))
