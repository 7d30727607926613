"""`python -m lessons`: `learn`, `check`; `class` for instructors; `author`."""

import os
import sys

HOME = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
if sys.path[0] in ("", os.getcwd()) and os.path.realpath(os.getcwd()) != HOME:
    # `python -m` puts it there: a rich.py among submissions would be imported
    del sys.path[0]

USAGE = (
    "python -m lessons learn | check [CHAPTER …] | class FOLDER"
    " | author CHAPTER … (each has --help)"
)


def main() -> int:
    """Run one subcommand; the exit code."""
    command, *arguments = sys.argv[1:] or [""]
    if sys.platform == "win32":
        return tell("windows")
    if command == "learn":
        from grader.learn.learn_command import main as run
    elif command == "check":
        from grader.run.check_command import main as run
    elif command == "class":
        from grader.classroom.class_command import main as run
    elif command == "author":
        from grader.author.author_command import main as run
    elif command == "book":
        return tell("book-elsewhere")
    else:
        asked = command in ("-h", "--help")
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    return run(arguments)


def tell(message: str) -> int:
    """Say why nothing can be done, in the learner's language; exit code 2."""
    from grader.messages import locale_language, say

    print(say(message, locale_language()), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
