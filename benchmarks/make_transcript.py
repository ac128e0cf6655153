"""`python -m benchmarks.make_transcript PATH --size 1G`: a transcript as Claude Code writes them, of any size.

Long tool results stand between the calls; `TodoWrite` comes once in a while, for the last time `--tail` bytes before
the end. `--no-list` leaves the calls out, but not the talk about them, as real transcripts have it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_WORDS = re.findall(
    r"\w+",
    "def return import self class value name path error None True list status input content line read write test "
    "parser token lexer Todo todo item state merge board event store",
)
_STEPS = ("Read the parser", "Find the loop", "Fix the loop", "Cover it with a test", "Run the tests", "Write the note")
_USAGE = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 1200,
    "cache_read_input_tokens": 84_000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1200, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 312,
    "service_tier": "standard",
}
EVERY = 400 * 1024
"""About so many bytes lie between two writes of the list."""


def write_transcript(
    path: str | Path, size: int, *, lists: bool = True, every: int = EVERY, tail: int = 1 << 20, seed: int = 1
) -> int:
    """Writes a transcript of about that many bytes; how often the list is written in it."""
    chance = random.Random(seed)
    texts = [_code(chance, chance.choice((300, 2_000, 8_000, 20_000, 60_000))) for _ in range(64)]
    numbers, written, since, calls = count(1), 0, every, 0
    end = size - tail
    with open(path, "wb") as file:
        while written < size:
            due = since >= every and written < end - every
            if lists and (due or written >= end):
                body, calls, since = _todo(next(numbers), calls), calls + 1, 0
                lists = due  # behind the last one there is only work
            else:
                body = _turn(next(numbers), texts[chance.randrange(len(texts))], chance)
            written += file.write(body)
            since += len(body)
    return calls


def _turn(number: int, text: str, chance: random.Random) -> bytes:
    """A tool call and its result, as the transcript has them: the model's copy, and the program's own."""
    tool = chance.choice(("Read", "Bash", "Edit"))
    path = f"/projects/shed/src/file{number}.py"
    said, details = text, _details(tool, path, text)
    if tool == "Edit":
        said = f"The file {path} has been updated. Here's the result of running `cat -n`:\n{text[:600]}"
    call = {"type": "tool_use", "id": f"toolu_{number:024}", "name": tool, "input": {"file_path": path}}
    result = {"tool_use_id": f"toolu_{number:024}", "type": "tool_result", "content": said, "is_error": False}
    lines = [_line(number, "assistant", [call]), _line(number, "user", [result], details)]
    if number % 5 == 0:
        lines.append(_line(number, "assistant", [{"type": "text", "text": text[:400]}]))
    if number % 40 == 0:  # the list as a thing that is talked about
        note = 'The "TodoWrite" tool hasn\'t been used lately; "newTodos" would be its result.'
        lines.append(_line(number, "user", [{"type": "text", "text": f"<system-reminder>{note}</system-reminder>"}]))
    return b"".join(lines)


def _details(tool: str, path: str, text: str) -> dict[str, Any]:
    if tool == "Read":
        return {"type": "text", "file": {"filePath": path, "content": text, "numLines": text.count("\n")}}
    if tool == "Bash":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    rows = text[:4000].split("\n")
    patch = {"oldStart": 1, "oldLines": len(rows), "newStart": 1, "newLines": len(rows), "lines": rows}
    return {
        "filePath": path,
        "oldString": rows[0],
        "newString": rows[-1],
        "originalFile": text,
        "structuredPatch": [patch],
    }


def _todo(number: int, calls: int) -> bytes:
    """A write of the list: one more step done each time; when all are, the next list is another one."""
    part, place = divmod(calls, len(_STEPS) + 1)
    todos = [
        {
            "content": f"{step} {part}",
            "status": _status(index, place),
            "activeForm": f"Working on step {index} of {part}",
        }
        for index, step in enumerate(_STEPS)
    ]
    call = {"type": "tool_use", "id": f"toolu_{number:024}", "name": "TodoWrite", "input": {"todos": todos}}
    said = "Todos have been modified successfully. Ensure that you continue to use the todo list"
    result = {"tool_use_id": f"toolu_{number:024}", "type": "tool_result", "content": said}
    details = {"oldTodos": [], "newTodos": todos}
    return _line(number, "assistant", [call]) + _line(number, "user", [result], details)


def _status(index: int, place: int) -> str:
    return "completed" if index < place else "in_progress" if index == place else "pending"


def _line(number: int, kind: str, content: list[Any], result: Any = None) -> bytes:
    at = f"2026-01-{1 + number // 86_400 % 28:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": f"msg_{number:024}", "type": "message", "model": "model", "usage": _USAGE}
    record: dict[str, Any] = {
        "parentUuid": f"{number:032x}",
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work",
        "sessionId": "5c1de2a0-0000-4000-8000-000000000001",
        "version": "2.0.60",
        "gitBranch": "main",
        "type": kind,
        "message": message,
        "uuid": f"{number + 1:032x}",
        "timestamp": at,
    }
    if result is not None:
        record["toolUseResult"] = result
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _code(chance: random.Random, size: int) -> str:
    def rows() -> Iterator[str]:
        length = 0
        for number in count(1):
            row = f'{number:>6}\t{"    " * chance.randrange(4)}{" ".join(chance.choices(_WORDS, k=8))}("{number}")'
            length += len(row) + 1
            yield row
            if length >= size:
                return

    return "\n".join(rows())


def bytes_of(text: str) -> int:
    """A size such as `200M` or `1G`."""
    unit = text[-1:].upper() if text[-1:].isalpha() else ""
    number = text[:-1] if unit else text
    if unit not in _UNITS or not number.isdigit():
        raise argparse.ArgumentTypeError(f"`{text}` is no size; use 500K, 20M or 1G")
    return int(number) * _UNITS[unit]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_transcript", description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--size", type=bytes_of, default=bytes_of("1G"))
    parser.add_argument("--tail", type=bytes_of, default=bytes_of("1M"), help="bytes behind the last write")
    parser.add_argument("--no-list", action="store_true", help="never write a list")
    options = parser.parse_args()
    calls = write_transcript(options.path, options.size, lists=not options.no_list, tail=options.tail)
    print(f"{Path(options.path).stat().st_size:,} bytes, {calls} writes of the list")


if __name__ == "__main__":
    main()
