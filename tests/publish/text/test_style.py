"""How the Chinese reads, where a machine can see it: what is told, and with page, line and sentence."""

from publish.page import ROOT
from publish.text import style
from publish.text.chinese_texts import sentences, texts

SENTENCES = [  # the rule, what it tells, and what it does not
    ("和 as a sum", "JAX 问你和应该放在哪里。", "JAX 问你：求和结果应该放在哪里。"),
    ("和 as a sum", "前两个和在设备 06 上。", "前两个列和在设备 06 上。"),
    ("和 as a sum", "现在每个设备有一个和，没有副本。", "4 个数的和，各设备都求过和，再求一次和。"),
    ("counted from zero", "第 0 段在设备 0 上。", "下标为 0 的那一段在设备 0 上，第 0 维切开。"),
    ("quantity in words", "三十二个数共 128 字节。", "32 个数共 128 字节。"),
    ("quantity in words", "这里有八个设备。", "这里有 8 个设备，分成两组，写法有四种，见第五条。"),
    ("quantity in words", "每个进程四个设备。", "每个进程 4 个设备，四个选项都写上。"),
    ("quantity in words", "等了五分钟。", "等了 5 分钟，十分顺利。"),
    ("上路", "上路的只有部分和。", "真正要传的只有部分和。"),
    ("打招呼", "和编译器打个招呼。", "给编译器加约束。SIGKILL 不打招呼。"),
    ("轴 of an array", "沿第 0 轴堆叠。", "沿第 0 维堆叠，沿 `x` 轴切开。"),
    ("轴 of an array", "沿第 {axis} 轴的顺序不对。", "沿第 {axis} 维的顺序不对。"),
    ("a program that is asked", "JAX 就会去问元数据服务器。", "JAX 就会查询元数据服务器，请问问题在哪里。"),
    ("nothing said", "什么都不说，就创建在默认设备上。", "什么都不指定，就创建在默认设备上。"),
    ("recorded as on tape", "这是事先录下的一次运行。", "这是事先记录的一次运行，录制 profile 另说。"),
    ("a check that objects", "类型检查不会反对。", "类型检查查不出来。"),
    ("one word for one thing", "损失一个比特也不差。", "损失逐位相同，速度是 10 Gbit/s。"),
    ("everywhere", "名称处处相同。", "名称在每个进程里都相同。"),
    ("half-width quotes", '他说 "错了" 就走。', '他说“错了”就走，`"错了"` 是代码。'),
    ("half-width quotes", "他说「错了」。", '轴名是 "x" 和 "y"两个。'),
    ("捐献", "把内存捐献出去。", "把内存捐赠出去。"),
    ("大 N 倍", "矩阵大了 1,024 倍。", "矩阵是原来的 1,024 倍，快 10 倍。"),
    ("a sentence in brackets", "两者不同。（见第 3 章。）", "两者不同（见第 3 章）。请看“哪里？”一节。"),
    ("上传 along an axis", "每个轴上传了多少字节？", "沿每个轴传了多少字节？请把笔记本上传到 Colab。"),
    ("第一维", "沿第一维切开。", "沿下标为 0 的维切开，第一，维数不变。"),
    ("谁 for a process", "这里没有谁是总指挥。", "这里没有哪个进程是总指挥。谁决定布局？"),
    ("a program that is asked", "这个程序问自己在哪里。", "这个程序打印自己在哪里。先想一想。"),
]


def test_a_sentence_that_should_be_written_otherwise_is_told():
    for kind, wrong, right in SENTENCES:
        assert [found.kind for found in style.in_text("page.md", wrong)] == [kind], wrong
        assert list(style.in_text("page.md", right)) == [], right


ENGLISH = [  # the rule, what it tells, and what it does not
    ("a person for a program", "whoever asks for one waits.", "Code that reads one has to wait; whom do you ask?"),
    ("a person for a program", "Run everything, for who changes them.", "Run everything, for contributors."),
    ("a person for a program", "Start it again: who fails ends at once.", "A process that fails ends at once."),
    ("a percent sign apart", "Fill 90 % of it.", "Fill 90% of it."),
    ("another for different", "Then the sum is another.", "Then the sum is different, and there is another way."),
    ("another for different", "It got another value than the rest.", "Send it to another device."),
    ("another for different", "Restore it on another\nnumber of processes.", "Restore it on one more process."),
    ("beside", "It is in `bill.py`, beside the lesson.", "It is in the lesson's folder, beside a larger file."),
    ("beside", "Beside `whole` only a few lines matter.", "Apart from `whole`; the column “beside” is memory."),
    ("a noun of which", "It counts a loop of which nothing says how often it runs.", "Two loops, one of which runs."),
    ("so many as nothing shows", "Choose for a model of so many parameters.", "There are so many that none fits."),
    ("so many as nothing shows", "Both send the same, to the byte.", "Both send exactly the same number of bytes."),
    ("a thing that is told", "A wrong answer is told which mistake it makes.", "The checker tells you which mistake."),
    ("alike", "An inner dimension that both sides cut alike.", "The two sides look alike."),
    ("coy", "Sixteen chips that are not here.", "The columns that are not in the table."),
    ("coy", "A static server lets people wait.", "A static server makes people wait."),
]


def test_an_english_sentence_that_should_be_written_otherwise_is_told():
    for kind, wrong, right in ENGLISH:
        assert [found.kind for found in style.in_english("page.md", wrong)] == [kind], wrong
        assert list(style.in_english("page.md", right)) == [], right
    (found,) = style.in_english("page.md", "One.\n\n```python\nx  # to the byte\n```\n\nThe same, to\nthe byte.\n")
    assert str(found).startswith("page.md:7: so many as nothing shows: “to the byte”")


def test_page_line_and_sentence_are_named_and_code_is_no_prose():
    text = "# 标题\n\n一句话，\n接着说。第 0 段\n在这里。\n\n```python\n# 第 0 段\n```\n\n`第 0 段`\n"
    (found,) = style.in_text("book/zh-Hans/page.md", text)
    assert str(found).startswith("book/zh-Hans/page.md:4: counted from zero: “第 0 段在这里。”; say 下标为 0 的")

    # A table is read cell by cell.
    (found,) = style.in_text("README.md", "| 文件 | 用途 |\n| --- | --- |\n| `a.py` | 第 0 段在这里 |\n")
    assert str(found).startswith("README.md:3: counted from zero: “第 0 段在这里”")
    # sentences know where they begin
    found = list(sentences("前一句。后一句\n到这里！\n- 一项\n- 两项"))
    assert [(s.line, s.text) for s in found] == [(1, "前一句。"), (1, "后一句到这里！"), (3, "一项"), (4, "两项")]
    assert [s.last for s in found] == [False, True, True, True]


def test_colons_in_mid_sentence_are_counted_and_those_before_code_are_not():
    text = "甲乙：丙丁。\n\n像下面这样：\n\n```python\nx\n```\n\n| 表：格 |\n\n- 一项：两项"
    assert style.colons(text) == 1000 * 2 / len("甲乙：丙丁。像下面这样：一项：两项")
    assert style.colons("甲" * 999 + "。") == 0
    # nor what other files say
    text = "头\n% exercise: twice\n第 0 段\n% end exercise\n尾\n% elsewhere\n第 0 段\n% end elsewhere"
    assert style.without_generated(text) == "头\n\n\n\n尾\n\n\n"


def test_a_reference_that_hides_its_chapter_is_told():
    def bare(text: str) -> list[str]:
        return [found.where for found in style.bare_titles("p.md", text)]

    assert bare("见\n{ref}`交给编译器 <sec-ch04>`") == ["p.md:2"]
    assert bare("See {doc}`let it do it <ch04_jit>`") == ["p.md:1"]
    for named in ("{doc}`ch04_jit`", "{ref}`第 4 章《交给编译器》 <sec-ch04>`", "{ref}`chapter 9 <sec-ch09>`"):
        assert bare(named) == []
    assert bare("{ref}`上一章 <sec-ch03>`, {ref}`Part II <sec-ch10>`, {ref}`this table <sec-ch04-tpu>`") == []


def test_a_term_is_explained_where_it_is_first_used():
    def missing(*pages: str) -> list[str]:
        return [found.where for found in style.unexplained({f"p{i}": text for i, text in enumerate(pages)})]

    assert missing("没有这个词。", "**死锁**（deadlock）就是互相等。死锁很糟。") == []
    assert missing("会死锁。\n\n死锁（deadlock）。") == ["p0:1"]
    assert missing("会死锁。", "死锁还在。") == ["p0:1"]
    assert missing("会死锁。", "这是死锁（deadlock）。") == []  # it is taught later, and explained there


def test_messages_are_looked_at_too_each_hint_of_them():
    words = texts(ROOT)
    assert "多加了一次" in words["grader/messages.toml: near-term-added"]
    hints = next(text for where, text in words.items() if where.endswith("words.toml: spec_for_picture.hints"))
    assert hints.count("\n\n") >= 2


def test_the_command_says_what_is_found_where_it_is_asked_to_look(capsys, monkeypatch):
    monkeypatch.setattr(style, "check", lambda: [style.Finding("book/zh-Hans/ch01.md:3", "上路", "上路了。", "发送")])
    assert style.main([]) == 1
    assert capsys.readouterr().out == "book/zh-Hans/ch01.md:3: 上路: “上路了。”; say 发送\n"
    assert style.main(["book/zh-Hans/ch02"]) == 0


def test_pages_and_messages_are_read_each_for_its_kind(tmp_path):
    """A book with one fault of each kind: in sentences, colons, glosses and titles of pages, and in a message."""
    for edition, text in {
        "zh-Hans": "第 0 段。" + "甲：乙。" * 9 + "会死锁。见 {ref}`交给编译器 <sec-ch04>`",
        "en": "See {ref}`let it do it <sec-ch04>`",
    }.items():
        page = tmp_path / "book" / edition / "ch01_one.md"
        page.parent.mkdir(parents=True)
        page.write_text(text, "utf-8")
    words = tmp_path / "grader" / "messages.toml"
    words.parent.mkdir()
    words.write_text('sent.en = "sent"\nsent.zh-Hans = "上路了。"\n', "utf-8")
    assert {(one.where.partition(":")[0], one.kind) for one in style.check(tmp_path)} == {
        ("book/en/ch01_one.md", style.BARE),
        ("book/zh-Hans/ch01_one.md", style.BARE),
        ("book/zh-Hans/ch01_one.md", "counted from zero"),
        ("book/zh-Hans/ch01_one.md", style.COLONS),
        ("book/zh-Hans/ch01_one.md", style.GLOSS),
        ("grader/messages.toml", "上路"),
    }
