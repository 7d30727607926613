"""Add up the outcomes of a class."""

from collections import Counter
from dataclasses import dataclass

from grader.classroom.grading import OUTCOMES, ClassGrading
from grader.exercise.lesson_words import ExerciseWords, exercise_words
from grader.messages import pick


@dataclass
class Stuck:
    """The statistics of one exercise. counts: by outcome, as in OUTCOMES. mistakes: (function, times), most first."""

    exercise: str
    counts: dict[str, int]
    mistakes: list[tuple[str, int]]

    @property
    def solved(self) -> int:
        return self.counts.get("right", 0)

    @property
    def commonest(self) -> tuple[str, int]:
        """Return the most frequent outcome of the students who have not solved it, and how many have it."""
        rest = [(outcome, n) for outcome, n in self.counts.items() if outcome != "right"]
        return max(rest, key=lambda item: item[1])


def solved(grading: ClassGrading, student: str) -> int:
    """Return the number of exercises that the student has solved."""
    return sum(o.outcome == "right" for o in grading.outcomes[student].values())


def by_exercise(grading: ClassGrading) -> list[Stuck]:
    """Return the statistics of every exercise, in the book's order."""
    rows = []
    for exercise in grading.exercises:
        met = [outcomes[exercise] for outcomes in grading.outcomes.values()]
        counted = Counter(o.outcome for o in met)
        mistakes = Counter(o.mistake for o in met if o.mistake)
        counts = {outcome: counted[outcome] for outcome in OUTCOMES if counted[outcome]}
        rows.append(Stuck(exercise, counts, mistakes.most_common()))
    return rows


def stuck(grading: ClassGrading) -> list[Stuck]:
    """Return the exercises that not all students have solved; those that the fewest have solved come first."""
    rows = [row for row in by_exercise(grading) if row.solved < len(grading.students)]
    return sorted(rows, key=lambda row: row.solved)


def mistakes(grading: ClassGrading) -> list[tuple[str, str, list[str]]]:
    """Return (exercise, mistake, students) for every mistake that was made, the most frequent first."""
    who: dict[tuple[str, str], list[str]] = {}
    for student, outcomes in grading.outcomes.items():
        for exercise, outcome in outcomes.items():
            if outcome.mistake:
                who.setdefault((exercise, outcome.mistake), []).append(student)
    rows = [(exercise, mistake, names) for (exercise, mistake), names in who.items()]
    return sorted(rows, key=lambda row: (-len(row[2]), grading.exercises.index(row[0])))


def mistake_name(grading: ClassGrading, exercise: str, mistake: str) -> str:
    """Return the mistake's name in the language of the run, from words.toml."""
    texts = _words(grading, exercise).mistakes.get(mistake)
    return pick(texts.name if texts else {}, grading.lang, short(exercise, mistake))


def mistake_text(grading: ClassGrading, exercise: str, mistake: str) -> str:
    """Return the explanation in words.toml for a student who makes the mistake."""
    texts = _words(grading, exercise).mistakes.get(mistake)
    return pick(texts.text if texts else {}, grading.lang, "")


def title(grading: ClassGrading, exercise: str) -> str:
    """Return the exercise's title in the language of the run; its name if it has none."""
    return pick(_words(grading, exercise).title, grading.lang, exercise.partition(".")[2])


def short(exercise: str, mistake: str) -> str:
    """Return the mistake without the exercise's name: `squared` for `double__squared`."""
    return mistake.removeprefix(f"{exercise.partition('.')[2]}__")


def _words(grading: ClassGrading, exercise: str) -> ExerciseWords:
    return exercise_words(grading.root / "lessons", exercise)
