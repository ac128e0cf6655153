"""Proposed plans in a stream. The rules are those of manifest.toml, section codex."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.core.plan import ProposedPlanParser, Segment, extract, strip
from tests.sizes import size

CITE, UNCITE = "<oai-mem-citation>", "</oai-mem-citation>"
CASES: list[tuple[str, str, str | None, str]] = [
    ("a block", "Intro\n<proposed_plan>\n- one\n</proposed_plan>\nOutro", "- one\n", "Intro\nOutro"),
    ("no plan at all", "just\ntext", None, "just\ntext"),
    ("nothing", "", None, ""),
    ("an open tag within a line", "a <proposed_plan>\nb", None, "a <proposed_plan>\nb"),
    ("an open tag with text behind it", "<proposed_plan> extra\n", None, "<proposed_plan> extra\n"),
    ("blanks around the tags", "  <proposed_plan>\t \nx\n \t</proposed_plan>  \n", "x\n", ""),
    ("two blocks", "<proposed_plan>\n1\n</proposed_plan>\nm\n<proposed_plan>\n2\n</proposed_plan>", "2\n", "m\n"),
    ("crlf", "<proposed_plan>\r\nx\r\ny\r\n</proposed_plan>\r\nz", "x\r\ny\r\n", "z"),
    ("capitals", "<PROPOSED_PLAN>\nx\n</PROPOSED_PLAN>\n", None, "<PROPOSED_PLAN>\nx\n</PROPOSED_PLAN>\n"),
    ("both tags on one line", "<proposed_plan></proposed_plan>\n", None, "<proposed_plan></proposed_plan>\n"),
    ("an open tag within a block", "<proposed_plan>\n<proposed_plan>\nx\n</proposed_plan>", "<proposed_plan>\nx\n", ""),
    ("a close tag behind text", "<proposed_plan>\nx </proposed_plan>\ny", "x </proposed_plan>\ny", ""),
    ("a lone close tag", "</proposed_plan>\nx", None, "</proposed_plan>\nx"),
    ("an open tag and no more", "<proposed_plan>", "", ""),
    ("a block that is never closed", "a\n<proposed_plan>\nx", "x", "a\n"),
    ("an empty block", "<proposed_plan>\n</proposed_plan>\n", "", ""),
    ("a close tag at the very end", "<proposed_plan>\nx\n</proposed_plan>", "x\n", ""),
    ("a piece of a tag at the end", "x\n<proposed_pl", None, "x\n<proposed_pl"),
    ("a tag torn by a blank", "<proposed _plan>\nx\n", None, "<proposed _plan>\nx\n"),
    ("blank lines", "\n \n<proposed_plan>\n\n \nx\n</proposed_plan>\n\n", "\n \nx\n", "\n \n\n"),
    ("a control character before a tag", "\x1c<proposed_plan>\nx\n", None, "\x1c<proposed_plan>\nx\n"),
    ("a wide blank before a tag", "\u3000<proposed_plan>\u2003\nx\n", "x\n", ""),
    (
        "citations",
        "a{1}b\n<proposed_plan>\nx{\n</proposed_plan>\n}y\n</proposed_plan>{".replace("{", CITE).replace("}", UNCITE),
        "xy\n",
        "ab\n",
    ),
    ("a citation that is never closed", "a<oai-mem-citation>b\n<proposed_plan>\nx", None, "a"),
    ("what only looks like a citation", "a<oai-mem<oai-mem-citation>1</oai-mem-citation><", None, "a<oai-mem<"),
]
texts = pytest.mark.parametrize(
    ("text", "plan", "visible"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


def streamed(*pieces: str) -> list[Segment]:
    """All segments of a stream, with text of one kind in a row put together."""
    parser = ProposedPlanParser()
    segments = [segment for piece in pieces for segment in parser.push(piece)]
    whole: list[Segment] = []
    for segment in [*segments, *parser.finish()]:
        if whole and segment.kind == whole[-1].kind and segment.kind in ("normal", "delta"):
            whole[-1] = Segment(segment.kind, whole[-1].text + segment.text)
        else:
            whole.append(segment)
    return whole


@pytest.mark.requirement("codex.plan-tags", "codex.plan-citations", "codex.plan-last-wins")
@texts
def test_a_plan_is_found_and_the_rest_is_visible(text: str, plan: str | None, visible: str) -> None:
    assert (extract(text), strip(text)) == (plan, visible)


@pytest.mark.requirement("codex.plan-split-anywhere")
@texts
def test_a_split_at_any_place_changes_nothing(text: str, plan: str | None, visible: str) -> None:
    whole = streamed(text)
    assert "".join(segment.text for segment in whole if segment.kind == "normal") == visible
    for place in range(len(text) + 1):
        assert streamed(text[:place], text[place:]) == whole
    assert streamed(*text) == whole
    assert (plan is None) == all(segment.kind == "normal" for segment in whole)


PARTS = ("<proposed_plan>", "</proposed_plan>", "\n", "\r\n", " ", "\t", "x", "<", "</", "<proposed", "_plan>")
TAGS = ("<oai-mem-citation>", "</oai-mem-citation>", "<oai-mem", "\x1c", "\u3000", "<PROPOSED_PLAN>", "é")


@pytest.mark.requirement("codex.plan-split-anywhere")
@given(st.lists(st.sampled_from([*PARTS, *TAGS])).map("".join), st.data())
def test_a_stream_in_random_pieces_reads_like_the_whole(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(min_value=0, max_value=len(text)))))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = streamed(text)
    assert streamed(*pieces) == whole
    kinds = [segment.kind for segment in whole if segment.kind in ("start", "end")]
    assert kinds == ["start", "end"] * (len(kinds) // 2)


@pytest.mark.requirement("codex.plan-split-anywhere")
@given(st.lists(st.sampled_from([*PARTS, *TAGS[3:]])).map("".join))
def test_no_text_is_lost_but_the_tags(text: str) -> None:
    words = "".join(segment.text for segment in streamed(text))
    tags = sum(segment.kind in ("start", "end") for segment in streamed(text))
    assert words.count("x") == text.count("x")
    assert text.count("proposed_plan>") - words.count("proposed_plan>") in (tags, tags - 1)


@pytest.mark.requirement("codex.plan-segments")
def test_text_is_passed_on_as_soon_as_it_cannot_be_a_tag() -> None:
    parser = ProposedPlanParser()
    assert parser.push("Intro text\n<prop") == [("normal", "Intro text\n")]
    assert parser.push("osed_plan>\n- step 1\n") == [("start", ""), ("delta", "- step 1\n")]
    assert parser.push(" </") == []
    assert parser.push("b>") == [("delta", " </b>")]
    assert parser.push("\n</proposed_plan>\nOut") == [("delta", "\n"), ("end", ""), ("normal", "Out")]
    assert parser.finish() == []


@pytest.mark.requirement("codex.plan-segments")
def test_a_parser_can_be_used_again_after_its_end() -> None:
    parser = ProposedPlanParser()
    parser.push("<proposed_plan>\nx<oai-mem-citation>")
    assert parser.finish() == [("end", "")]
    assert parser.push("x\n") == [("normal", "x\n")]


FLOODS = ["\n", "<", " ", "a\n", "<proposed_plan>\n", "</proposed_plan>\n", " <proposed_plan>\n</proposed_plan>\n"]


@pytest.mark.requirement("codex.plan-linear")
@pytest.mark.parametrize("part", [*FLOODS, "<oai-mem-citation>", "<oai-mem-citation></oai-mem-citation>", "<oai-mem-"])
def test_a_flood_is_read_piece_by_piece_in_bounded_time(part: str) -> None:
    """With quadratic work each of these would take minutes, which the timeout of a test does not give."""
    text = part * (size(300_000, 1_000_000) // len(part))
    parser = ProposedPlanParser()
    segments = [segment for start in range(0, len(text), 4096) for segment in parser.push(text[start : start + 4096])]
    segments.extend(parser.finish())
    assert "".join(segment.text for segment in segments if segment.kind == "normal") == strip(text)
