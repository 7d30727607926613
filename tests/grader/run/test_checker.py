"""`pytest lessons/`: todo, right and wrong; mistakes; report, hints, languages; bad command lines."""

import re
from types import SimpleNamespace

import pytest
from _pytest.config.argparsing import Parser
from checker_runs import answer, check, project

from grader.exercise import progress
from grader.run.options import lang_of, settings_of
from grader.run.pytest_plugin import pytest_addoption

ONE = ["ch90_one.double", "ch90_one.total", "ch90_one.count_to"]
ALL = [*ONE, "ch91_pair.everybody"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return project(tmp_path_factory.mktemp("project"))


def outcomes(checked):
    return {name: row["outcome"] for name, row in checked.rows.items()}


def test_the_first_run_copies_the_blanks_and_hints_go_on_one_by_one(tmp_path):
    root = project(tmp_path)
    checked = check(root)
    assert checked.code == 1
    assert outcomes(checked) == dict.fromkeys(ALL, "todo")
    copied = (root / "answers" / "ch90_one.py").read_text("utf-8")
    assert copied.count("def ") == 3 and '"""Twice x, laid out as x is."""\n    # TODO: multiply.\n' in copied
    assert copied.isascii()
    assert "copied to answers/ (ch90_one.py, ch91_pair.py)" in checked.text
    assert "0 of 4 solved · next: ch90_one/double · answers/ch90_one.py:7\n" in checked.text
    assert "Traceback" not in checked.text
    first = check(root, "--hint", report=False)
    assert first.code == 1 and "Hint 1 of 2 for ch90_one/double: What is twice?" in first.text
    second = check(root, "--hint", "--lang=zh-Hans", report=False)
    assert "ch90_one/double 的提示 2/2：2 * x" in second.text and "no tests ran" in second.text
    answer(root, "ch90_one", copied + "def double(x):\n    return 2 * x\n")
    third = check(root, "--hint", report=False)
    assert "Hint 1 of 1 for ch90_one/total: psum" in third.text
    assert progress.hints_given(root / "answers") == {"ch90_one.double": 2, "ch90_one.total": 1}
    assert "No hint is needed" not in check(root, "--hint", "-k", "no_such", report=False).text
    answer(root, "ch90_one", (root / "solutions" / "ch90_one.py").read_text())
    check(root, "lessons/ch90_one")
    assert "No hint is needed" in check(root, "--hint", "lessons/ch90_one", report=False).text


def test_solutions_are_right_and_leave_no_answers_folder(tmp_path):
    root = project(tmp_path)
    checked = check(root, "--solutions")
    assert (checked.code, outcomes(checked)) == (0, dict.fromkeys(ALL, "right"))
    assert "4 of 4 solved · all solved" in checked.text
    assert not (root / "answers").exists()
    assert sorted(p.name for p in (root / "solutions").iterdir()) == ["ch90_one.py", "ch91_pair.py"]


MISTAKEN = """
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P

def double(x):
    return jnp.square(x)

def total(x, mesh):
    f = lambda v: jnp.add.reduce(jax.lax.all_gather(v, 'x', tiled=True))
    return jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=P(), check_vma=False)(x)

def count_to(n):
    print(*range(n), sep='\\n')
    return n
"""


def test_a_mistake_in_another_spelling_is_named_and_explained(root):
    answer(root, "ch90_one", MISTAKEN, "mistaken")
    answer(root, "ch91_pair", "def everybody(x):\n    return float(sum(x.tolist()))\n", "mistaken")
    checked = check(root, "--answers=mistaken", "--seed", "7")
    assert checked.code == 1
    assert outcomes(checked) == dict.fromkeys(ALL, "wrong")
    named = {name: row["mistake"] for name, row in checked.rows.items()}
    assert named == {
        "ch90_one.double": "double__squared",
        "ch90_one.total": "total__gathers",
        "ch90_one.count_to": "count_to__from_zero",
        "ch91_pair.everybody": "everybody__own",
    }
    assert "squared — You multiplied x by itself." in checked.text
    message = checked.rows["ch90_one.double"]["message"]
    lines = [line.split()[0] for line in message.splitlines()]  # why first, then what was seen
    assert lines[:4] == ["squared", "called", "got", "expected"]
    assert "double(f32[8] P('x') = [" in message  # the smaller case, with its numbers
    assert "P('x') over 4 devices" in message
    assert "--seed 7" in checked.text
    budget = checked.rows["ch90_one.total"]["message"]
    assert "A device sends 24 bytes (one all-gather of an array of 32 bytes); the budget allows 6 bytes, " in budget
    chinese = check(root, "lessons/ch90_one", "--answers=mistaken", "--lang=zh-Hans", "--seed=7")
    assert "写成了平方——你把 x 和自己相乘了。" in chinese.text
    inputs, same, others = (
        re.search(r"double\((.*?)\)\n", run.rows["ch90_one.double"]["message"])[1]
        for run in (checked, chinese, check(root, "-k", "double", "--answers=mistaken", "--seed", "8"))
    )
    assert inputs == same != others
    sends = "一个设备要发送 24 字节（对 32 字节的数组做一次 all-gather）"
    assert f"{sends}；预算是用 all-reduce 发送不超过 6 字节" in chinese.text


ALONE = """from jax.experimental import multihost_utils
import jax
def everybody(x):
    if jax.process_index():
        return 0.0
    return float(multihost_utils.process_allgather(x).sum())
"""


def test_a_process_that_waits_for_the_other_is_named_in_the_language_of_the_locale_which_chooses_the_page(tmp_path):
    root = project(tmp_path)
    page = root / "_build/html/zh-Hant/ch91_pair.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>")
    answer(root, "ch91_pair", ALONE)
    locale = {"LC_ALL": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}
    checked = check(root, "lessons/ch91_pair", env=locale)
    row = checked.rows["ch91_pair.everybody"]
    assert (row["outcome"], row["mistake"]) == ("hung", "everybody__one_alone")
    assert "answers/ch91_pair.py:6：return float(multihost_utils" in row["message"]
    assert " · _build/html/zh-Hant/ch91_pair.html" in checked.text


def options(root, *given):
    """The settings that a command line gives, and its language."""
    parser = Parser(_ispytest=True)
    pytest_addoption(parser)
    option = parser.parse([*given])
    of = {"getoption": lambda name: getattr(option, name.lstrip("-")), "invocation_params": SimpleNamespace(dir=root)}
    config = SimpleNamespace(option=option, **of)
    return settings_of(config, root), lang_of(config)


def test_options_have_the_values_that_the_help_says(root, monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    settings, lang = options(root)
    assert (settings.limit, settings.memory, lang) == (20, 2, "zh-Hans")
    settings, lang = options(root, "--limit=1.5", "--memory=0.25", "--lang=en", "--solutions")
    assert (settings.limit, settings.memory, lang, settings.answers) == (1.5, 0.25, "en", root / "solutions")


@pytest.mark.parametrize(
    "given, sentence",
    [
        (["--answers", "nowhere"], "--answers nowhere: there is no such folder"),
        (["--lang", "fr"], "unknown language fr: choose one of en, zh-Hans, zh-Hant"),
        (["--limit", "soon"], "--limit soon: give a finite number above 0"),
        (["--memory=inf"], "--memory inf: give a finite number above 0"),
        (["--seed", "x"], "--seed x: give a whole number, 0 or more"),
        (["--report", "no/where.json"], "--report no/where.json: the folder of that file does not exist"),
        (["--device=gpu"], "--device gpu: choose one of simulated, real"),
    ],
)
def test_a_bad_option_value_is_one_sentence(root, monkeypatch, given, sentence):
    monkeypatch.setenv("LC_ALL", "C")
    with pytest.raises(pytest.UsageError) as refused:
        options(root, *given)
    assert str(refused.value).startswith(sentence)
    if given[0] == "--answers":
        checked = check(root, *given, report=False)
        assert checked.code == 4 and f"ERROR: {sentence}" in checked.text and "Traceback" not in checked.text


def test_in_a_cluster_the_two_process_exercise_uses_it_and_process_0_reports(root):
    cluster = ("-m", "minipod", "run", "-n", "2", "-d", "4", "--limit", "300", "-m", "pytest")
    right = check(root, "--solutions", "-k", "everybody or count_to", launch=cluster)
    assert (right.code, list(outcomes(right).values())) == (0, ["right", "right"]), right.text
    assert right.text.count("exercises checked here: 2 of 2 solved") == 1


def test_pytest_keeps_its_own_ways(root):
    answer(root, "ch90_one", "def double(x):\n    return 2 * x\n", "part")
    (root / "part/.hints.json").write_text('{"ch90_one.double": 2}')
    one = check(root, "--answers=part", "-k", "double")
    assert (one.code, [(name, row["hints"]) for name, row in one.rows.items()]) == (0, [("ch90_one.double", 2)])
    assert "exercises checked here: 1 of 1 solved (4 in all)" in one.text
    stopped = check(root, "--answers=part", "-x")
    assert list(stopped.rows) == ["ch90_one.double", "ch90_one.total"]
    assert stopped.rows["ch90_one.total"]["message"].startswith("part/ch90_one.py has no function total")


@pytest.mark.long
def test_pytest_spreads_the_exercises_and_does_without_forks(root):
    spread = check(root, "--solutions", "-n2")
    assert (spread.code, outcomes(spread)) == (0, dict.fromkeys(ALL, "right"))
    unforked = check(root, "--solutions", "--no-fork")
    assert (unforked.code, outcomes(unforked)["ch91_pair.everybody"]) == (1, "skipped")
    assert "needs several processes, but --no-fork allows only one" in unforked.rows["ch91_pair.everybody"]["message"]
