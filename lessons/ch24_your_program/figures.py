"""python figures.py BEFORE: figures in plans/*.json that changed since that
commit, as a table in Markdown; nothing where none did."""

import json
import subprocess
import sys


def git(*words):
    return subprocess.check_output(["git", *words], text=True)


def figures(text):
    """{(program, versions, figure): number}"""
    return {
        (program, versions, name): number
        for program, of in json.loads(text).items()
        for versions, kept in of.items()
        for name, number in kept.items()
    }


def main(before):
    lines, changed = [], ["diff", "--name-status", "--no-renames", "-z"]
    words = git(*changed, before, "HEAD", "--", "*plans/*.json").split("\0")
    for status, path in zip(words[:-1:2], words[1::2], strict=True):
        was = figures(
            "{}" if status == "A" else git("show", f"{before}:{path}")
        )
        now = figures("{}" if status == "D" else git("show", f"HEAD:{path}"))
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) != now.get(key):
                numbers = was.get(key, "–"), now.get(key, "–")
                shown = (f"{n:,}" if type(n) is int else n for n in numbers)
                lines.append(f"| {' | '.join([*key, *map(str, shown)])} |")
    if lines:
        print("| program | compiled by | figure | before | now |")
        print("|---|---|---|---:|---:|", *lines, sep="\n")


main(sys.argv[1])
