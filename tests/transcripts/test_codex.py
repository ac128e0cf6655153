"""The plan in a rollout of Codex."""

import hashlib
import json
import subprocess
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from punchlist.errors import ExtraMissing, TranscriptError
from punchlist.transcripts import log_files
from punchlist.transcripts.formats import open_transcript
from punchlist.transcripts.values import Transcript
from tests.transcripts.records import meta, output, plan, rollout, save, told


@pytest.fixture(params=["records", "file", "zst"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def open_records(records: list[Any]) -> Transcript:
        if request.param == "records":
            return open_transcript(records)
        path = save(tmp_path / "rollout-2026-03-01T09-00-00-t-1.jsonl", records)
        if request.param == "zst":
            body, path = path.read_bytes(), path.with_suffix(".jsonl.zst")
            path.write_bytes(zstandard.ZstdCompressor().compress(body))
        return open_transcript(path)

    return open_records


NOISE = [rollout("event_msg", {"type": "token_count", "text": "x" * 100})] * 30


@pytest.mark.requirement("codex.restore-last-successful")
def test_the_plan_is_that_of_the_last_successful_call(opened: Any) -> None:
    records = [
        meta(),
        plan("c1", "> Saw"),
        output("c1"),
        *NOISE,
        plan("c2", "x Saw", "> Glue", second=9),
        output("c2"),
        *NOISE,
    ]
    written = opened(records).latest()
    assert told(written) == ["x Saw", "> Glue"]
    assert (written.origin.session, written.origin.cwd, written.origin.at.second) == ("t-1", "/projects/shed", 9)


@pytest.mark.requirement("codex.restore-last-successful")
@pytest.mark.parametrize(
    "said",
    [
        "failed to parse function arguments: missing field `plan`",
        "update_plan is a TODO/checklist tool and is not allowed in Plan mode",
        None,
        {"content": "aborted", "success": False},
    ],
)
def test_a_call_that_failed_or_was_never_answered_is_passed_over(opened: Any, said: Any) -> None:
    answer = [] if said is None else [output("c2", said)]
    assert told(opened([meta(), plan("c1", "Saw"), *NOISE, output("c1"), plan("c2", "Burn"), *answer]).latest()) == [
        "Saw"
    ]


@pytest.mark.parametrize(
    "said",
    [
        "Plan updated",
        [{"type": "input_text", "text": "Plan updated"}],
        {"content": "Plan updated", "success": True},
        json.dumps({"output": "Plan updated", "metadata": {"exit_code": 0}}),
    ],
)
def test_success_is_told_by_the_text_alone_however_it_is_wrapped(opened: Any, said: Any) -> None:
    assert told(opened([meta(), plan("c1", "Saw"), output("c1", said)]).latest()) == ["Saw"]


def test_arguments_that_are_no_plan_are_passed_over(opened: Any) -> None:
    bad = plan("c2")
    bad["payload"]["arguments"] = '{"plan":[{"step":"x","status":"done"}]}'
    assert told(opened([meta(), plan("c1", "Saw"), output("c1"), bad, output("c2")]).latest()) == ["Saw"]


@pytest.mark.parametrize("call_id", ["call=/2", "call 2", "é", '"'])
def test_an_id_may_be_any_text(opened: Any, call_id: str) -> None:
    found = opened([meta(), plan("c1", "Saw"), output("c1"), plan(call_id, "x Saw"), output(call_id)])
    assert told(found.latest()) == ["x Saw"]
    assert [told(written) for written in found.history()] == [["Saw"], ["x Saw"]]


def test_each_call_of_an_id_that_comes_again_has_its_own_answer(opened: Any) -> None:
    records = [meta(), plan("c0", "Saw", second=1), output("c0"), plan("c0", "Burn", second=2), plan("c0", "x Saw")]
    found = opened([*records, output("c0")])
    assert [told(written) for written in found.history()] == [["Saw"], ["x Saw"]]
    assert told(opened([*records, output("c0", "no")]).latest()) == ["Saw"]


def test_of_many_calls_at_once_none_is_forgotten(opened: Any) -> None:
    calls = [plan(f"c{number}", f"Saw {number}") for number in range(60)]
    answers = [output(f"c{number}", "Plan updated" if number == 2 else "no") for number in range(60)]
    assert told(opened([meta(), *calls, *NOISE * 20, *answers]).latest()) == ["Saw 2"]


def test_a_subagents_rollout_belongs_to_its_parents_session(opened: Any) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "t-0", "depth": 1, "agent_nickname": "mole"}}}
    origin = opened([meta("t-7", source=source), plan("c1", "Saw"), output("c1")]).latest().origin
    assert (origin.agent, origin.session) == ("t-7", "t-0")


def test_a_fork_names_the_thread_that_it_was_taken_from(opened: Any) -> None:
    assert opened([meta("t-2", forked_from_id="t-1"), meta("t-1"), plan("c1", "Saw")]).sessions == ("t-2", "t-1")


def test_history_has_the_successful_writes_only(opened: Any) -> None:
    records = [
        meta(),
        plan("c1", "Saw"),
        output("c1"),
        plan("c2", "Burn"),
        output("c2", "no"),
        plan("c3", "x Saw"),
        output("c3"),
    ]
    assert [told(written) for written in opened(records).history()] == [["Saw"], ["x Saw"]]


def test_a_compressed_file_that_breaks_off_gives_what_came_before(tmp_path: Path) -> None:
    lines = [meta(), plan("c1", "Saw"), output("c1"), *NOISE * 200, plan("c2", "x Saw"), output("c2")]
    whole = save(tmp_path / "rollout.jsonl", lines).read_bytes()
    path = tmp_path / "rollout.jsonl.zst"
    body = zstandard.ZstdCompressor(write_content_size=False).compress(whole[:-40])
    path.write_bytes(body)
    assert told(open_transcript(path).latest()) == ["Saw"]
    path.write_bytes(body[: len(body) - 3])
    assert told(open_transcript(path).latest()) in (["Saw"], None)


def _damaged() -> list[Any]:
    body = "".join(
        json.dumps(record) + "\n" for record in [meta(), plan("c1", "Saw"), output("c1"), *NOISE * 30]
    ).encode()
    frame = zstandard.ZstdCompressor(write_checksum=True).compress(body)
    more = "".join(json.dumps(record) + "\n" for record in [plan("c2", "x Saw"), output("c2")]).encode()
    noisy = body + b"".join(hashlib.sha256(str(number).encode()).hexdigest().encode() for number in range(9000))
    long = zstandard.ZstdCompressor().compress(noisy)
    return [
        pytest.param(frame + b"garbage", ["Saw"], id="garbage"),
        pytest.param(frame[:-1] + bytes([frame[-1] ^ 1]), ["Saw"], id="checksum"),
        pytest.param(long[: len(long) // 2] + b"\xff" * 5000, ["Saw"], id="unfinished"),
        pytest.param(long[: len(long) // 2], ["Saw"], id="cut"),
        pytest.param(frame + b"noise" + zstandard.ZstdCompressor().compress(more), ["Saw"], id="between"),
    ]


@pytest.mark.parametrize(("body", "left"), _damaged())
def test_of_a_damaged_file_what_comes_before_the_damage_counts(tmp_path: Path, body: bytes, left: list[str]) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(body)
    found = open_transcript(path)
    assert told(found.latest()) == left
    assert found.skipped >= 1


def test_a_few_bytes_that_unpack_to_much_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    packer = zstandard.ZstdCompressor().compressobj()
    text = "".join(json.dumps(record) + "\n" for record in [meta(), plan("c1", "Saw"), output("c1")])
    path.write_bytes(
        packer.compress(text.encode())
        + b"".join(packer.compress(bytes(1 << 24)) for _ in range(8))  # 128 MB
        + packer.flush()
    )
    assert path.stat().st_size < 16_000
    tracemalloc.start()
    try:
        assert told(open_transcript(path).latest()) == ["Saw"]
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ceiling", ["log_files._MOST_TEXT", "lines._MOST_KEPT"])
def test_a_compressed_file_beyond_the_ceiling_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ceiling: str
) -> None:
    records = [meta(), *(entry for number in range(200) for entry in (plan(f"c{number}", "Saw"), output(f"c{number}")))]
    body = save(tmp_path / "rollout.jsonl", records).read_bytes()
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(body))
    assert told(open_transcript(path).latest()) == ["Saw"]
    monkeypatch.setattr(f"punchlist.transcripts.{ceiling}", 50_000)
    with pytest.raises(TranscriptError, match="zstd -d"):
        open_transcript(path)


@pytest.mark.parametrize("line", [b"\n", b"{}\n"])
def test_a_line_counts_however_short_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    monkeypatch.setattr(log_files, "_MOST_TEXT", 1 << 22)
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(line * 10_000))
    with pytest.raises(TranscriptError, match="zstd -d"):
        open_transcript(path, "codex")


def test_thousands_of_calls_in_a_compressed_file_find_their_answers(tmp_path: Path) -> None:
    ids = [f'a"{number}|\\(' for number in range(3000)]
    records = [meta(), *NOISE]
    for first in range(0, len(ids), 50):  # many at once, each answered later
        some = ids[first : first + 50]
        records += [*(plan(call_id, f"Saw {call_id}") for call_id in some), *map(output, reversed(some))]
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(save(tmp_path / "rollout.jsonl", records).read_bytes()))
    assert [told(written) for written in open_transcript(path).history()] == [[f"Saw {call_id}"] for call_id in ids]


def test_a_file_that_is_not_compressed_after_all_is_said_to_be_so(tmp_path: Path) -> None:
    path = save(tmp_path / "rollout.jsonl.zst", [meta()])
    with pytest.raises(TranscriptError) as caught:
        open_transcript(path)
    assert caught.value.code == "transcript_unreadable"


def test_without_the_extra_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ExtraMissing, match=r"\[zst\]"):
        list(log_files.read_lines(str(tmp_path / "rollout.jsonl.zst")))


@pytest.mark.needs("zstd")
def test_what_the_zstd_program_writes_is_read(tmp_path: Path) -> None:
    path = save(tmp_path / "rollout.jsonl", [meta(), plan("c1", "Saw"), output("c1")])
    subprocess.run(["zstd", "-q", str(path)], check=True)
    assert told(open_transcript(path.with_suffix(".jsonl.zst")).latest()) == ["Saw"]
