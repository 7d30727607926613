"""What Slurm would do with a batch script, from its text alone.

Only what exercise 1 asks about. A test hands the same scripts to the real
Slurm and compares.
"""

import os
import re
import shlex

# long names of the options that are read, and of those that take no value
SHORT = {
    "N": "nodes",
    "n": "ntasks",
    "t": "time",
    "K": "kill-on-bad-exit",
    "u": "unbuffered",
    "l": "label",
    "J": "job-name",
    "o": "output",
    "e": "error",
    "p": "partition",
    "c": "cpus-per-task",
    "A": "account",
}
BEFORE = {"exec", "env", "time", "timeout", "nice", "numactl", "stdbuf"}
OF_SRUN = {"kill-on-bad-exit", "label", "unbuffered"}
FLAGS = {"kill-on-bad-exit", "unbuffered", "label", "exclusive", "requeue"}
ASKED = {"nodes", "ntasks", "ntasks-per-node", "time"}
BETWEEN = {";", "&", "&&", "|", "||"}  # commands on one line


def read_sbatch(text: str) -> dict[str, object]:
    """How Slurm reads `text`.

    nodes, processes  how many of them run the program
    seconds           after which Slurm ends the job, if it is said
    job_ends          "with the program" or "at once"
    not_read          why Slurm overlooks some of these options, or ""
    when_one_fails    "all end" or "the others go on"
    printed_lines     are in the log "at once" or "when the buffer is full"
    runs              the Python program

    Raises ValueError with one sentence for what Slurm or the shell refuses.
    """
    if not text.startswith("#!"):
        raise ValueError(
            "sbatch: this does not look like a batch script: "
            "the first line must start with #! and the path of a shell"
        )
    job, commands, overlooked = _parts(text)
    environment: dict[str, str] = {}
    for i, command in enumerate(commands):
        step, words = _step(command, environment)
        if words and _is_python(words[0]):
            facts = _facts(job, step, environment, words[1:])
            waits = any(later[0] == "wait" for later in commands[i:])
            alone = command[-1] == "&" and not waits
            facts["job_ends"] = "at once" if alone else "with the program"
            given = job.keys() | (step or {}).keys()
            why = (why for name, why in overlooked if name not in given)
            return facts | {"not_read": next(why, "")}
    raise ValueError("the script starts no Python: no line runs `python …`")


def _parts(
    text: str,
) -> tuple[dict[str, str], list[list[str]], list[tuple[str, str]]]:
    """The options of the job, the words of each command, of which the last is
    "&" where the shell does not wait for it, and the options that Slurm does
    not read, with the reason."""
    job: dict[str, str] = {}
    commands: list[list[str]] = []
    overlooked: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("#SBATCH") and not commands:
            options, rest = _options(_words(line[7:]))
            if rest:
                raise ValueError(f"sbatch: {rest[0]!r} is no option")
            if of_srun := OF_SRUN & options.keys():
                raise ValueError(f"sbatch: unknown option --{min(of_srun)}")
            job |= options
        elif like := re.match(r"\s*#\s*SBATCH\s+(-.*)", line):
            late = commands and line.startswith("#SBATCH")
            why = "behind a command" if late else "a comment"
            names = _options(like[1].split() + [""])[0]
            overlooked += [(name, why) for name in names if name in ASKED]
        else:
            commands += _commands(line)
    return job, commands, overlooked


def _commands(line: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in _words(line):
        if word in BETWEEN:
            found[-1] += ["&"] if word == "&" else []
            found.append([])
        else:
            found[-1].append(word)
    return [words for words in found if words]


def _words(line: str) -> list[str]:
    parts = shlex.shlex(line, posix=True, punctuation_chars=";&|<>")
    parts.whitespace_split = True
    try:
        return list(parts)
    except ValueError:
        raise ValueError(f"a quotation is not closed: {line.strip()}") from None


def _options(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Options in front, by their long names, and the words after them."""
    found: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word.startswith("--"):
            name, given, value = word[2:].partition("=")
        else:
            name, value = SHORT.get(word[1:2], word[1:2]), word[2:]
            given = value
        if not given and name not in FLAGS:
            if not rest:
                raise ValueError(f"the option {word} needs a value")
            value = rest.pop(0)
        found[name] = value
    return found, rest


def _step(
    command: list[str], environment: dict[str, str]
) -> tuple[dict[str, str] | None, list[str]]:
    """srun's options (None: no srun) and the words that are run.

    environment: what was exported before; exports are added.
    """
    words, mine = list(command), dict[str, str]()
    step = None
    while words:
        if words[0] == "export":
            pairs = (w.partition("=") for w in words[1:])
            environment |= {name: value for name, _, value in pairs}
            return step, []
        if re.match(r"[A-Za-z_]\w*=", words[0]):
            name, _, mine[name] = words.pop(0).partition("=")
        elif words[0] in BEFORE:  # with options of its own, up to Python
            words.pop(0)
            while words and not re.match(r"srun$|[A-Za-z_]\w*=", words[0]):
                if _is_python(words[0]):
                    break
                words.pop(0)
        elif words[0] == "srun":
            step, words = _options(words[1:])
        else:
            break
    environment |= mine if words else {}
    return step, words


def _is_python(word: str) -> bool:
    return bool(re.fullmatch(r"python[\d.]*", os.path.basename(word)))


def _facts(
    job: dict[str, str],
    step: dict[str, str] | None,
    environment: dict[str, str],
    python: list[str],
) -> dict[str, object]:
    asked = job | (step or {})
    nodes = _count(asked, "nodes", 1)
    each = _count(asked, "ntasks-per-node", 1)
    processes = _count(asked, "ntasks", nodes * each)
    nodes = min(nodes, processes)  # Slurm warns, and does the same
    if step is None:  # the script runs on the first node, once
        nodes = processes = 1
    kill = (step or {}).get("kill-on-bad-exit", "0") or "1"
    if step is not None and "kill-on-bad-exit" not in step:
        kill = environment.get("SLURM_KILL_BAD_EXIT", "0")
    sent = (step or {}).get("export", "").split(",")
    flags, program = _python_flags(python)
    at_once = (
        any(re.match("-[A-Za-z]*u", flag) for flag in flags)
        or bool(environment.get("PYTHONUNBUFFERED"))
        or any(re.match("PYTHONUNBUFFERED=.", pair) for pair in sent)
        or "unbuffered" in (step or {})
    )
    return {
        "nodes": nodes,
        "processes": processes,
        "seconds": _seconds(job["time"]) if "time" in job else "not said",
        "when_one_fails": "the others go on" if kill == "0" else "all end",
        "printed_lines": "at once" if at_once else "when the buffer is full",
        "runs": program,
    }


def _python_flags(words: list[str]) -> tuple[list[str], str]:
    """Python's own options and its program; what follows is the program's."""
    flags: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag in ("-W", "-X") and rest:
            rest.pop(0)  # its value
        elif not flag.startswith(("-W", "-X")):
            flags.append(flag)
    return flags, rest[0] if rest else ""


def _count(options: dict[str, str], name: str, default: int) -> int:
    value = options.get(name, str(default))
    if not value.isdigit() or int(value) < 1:
        raise ValueError(f"--{name}={value} is no number of {name}")
    return int(value)


def _seconds(time: str) -> int:
    """Slurm's times: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S."""
    days, dash, clock = time.rpartition("-")
    parts = clock.split(":")
    if not all(p.isdigit() for p in parts) or len(parts) > 3:
        raise ValueError(f"sbatch: --time={time} is no time that Slurm reads")
    if dash and not days.isdigit():
        raise ValueError(f"sbatch: --time={time} is no time that Slurm reads")
    units = (3600, 60, 1) if dash or len(parts) == 3 else (60, 1)
    seconds = sum(int(p) * u for p, u in zip(parts, units, strict=False))
    return seconds + 86400 * int(days or 0)
