"""Whether a model's last words ask the person something."""

import pytest
from hypothesis import given

from punchlist.guidance.decisions import is_question
from tests.text.hostile import hostile_texts

QUESTIONS = [
    "Shall I go on?",
    "<b>Go on?</b>",
    "Which one?\n```",
    "도와드릴까요",
    "是否继续",
    "要不要继续",
    "I found two ways.\nWhich one do you want?",
    "Which one do you want?\n\n   \n",
    "Really?!",
    "Ready? :-)",
    "Shall I push it? 🚀",
    "Shall I push it? 👍🏽",
    "**Shall I push it?**",
    "_Shall I push it?_",
    "> Shall I push it?",
    "`Shall I push it?`",
    '"Shall I push it?"',
    "“Shall I push it?”",
    "(Shall I push it?)",
    "He asked “push it?”.",
    "Continue? (yes/no)",
    "Continue? [y/N]:",
    "Continue? [Y/n] ",
    "Which branch?…",
    "¿Sigo con esto?",
    "Soll ich weitermachen?",
    "„Soll ich weitermachen?“",
    "« On continue ? »",
    "要继续吗？",
    "要继续吗",
    "要繼續嗎。",
    "続けますか？",
    "続けますか。",
    "続けてもよろしいでしょうか。",
    "「続けますか？」",
    "（続けますか？）",
    "계속할까요?",
    "계속할까요.",
    "계속하시겠습니까",
    "Продолжать?",
    "هل أستمر؟",
    "آیا ادامه دهم؟",
    "Να συνεχίσω;",
    "Να συνεχίσω\u037e",
    "«Να συνεχίσω;»",
    "Շարունակե՞մ",
    "Ուզո՞ւմ եք շարունակել։",
    "ልቀጥል፧",
    "ꕞꕌꖝ꘏",
    "Is that irony⸮",
    "You did what‽",
    "Really⁇",
    "Which one ❓",
    "ต่อไหม",
    "ดำเนินการต่อหรือไม่ครับ",
    "क्या मैं आगे बढ़ूँ?",
]

STATEMENTS = [
    "",
    "   \n\n",
    "Done.",
    "Is it done? It is.",
    "Shall I?\nI will go on now.",
    "Everything is done!",
    "The list (see above?) is finished.",
    "for (i = 0; i < 3; i++);",
    "return x;",
    "Ende;",
    "了解しました。",
    "なかなか。",
    "完成了。",
    "没什么。",
    "끝났습니다.",
    "바쁘니까",
    "Τελείωσα.",
    "Շարունակե՞մ։ Այո, շարունակում եմ։",
    "تم.",
    "เสร็จแล้ว",
    "Next step: deploy",
    "[1]",
    "(see the notes)",
    "🚀",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_last_line_that_ends_as_a_question_asks(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_anything_else_does_not(text: str) -> None:
    assert not is_question(text)


@given(hostile_texts)
def test_no_text_is_too_strange_to_be_judged(text: str) -> None:
    assert is_question(text) in (True, False)
    assert is_question(f"{text}\nShall I?")
    assert not is_question(f"{text}\nDone.")


def test_a_long_text_is_judged_by_its_end() -> None:
    assert is_question("word " * 1_000_000 + "?")
    assert not is_question("?" * 1_000_000 + " Done.")
