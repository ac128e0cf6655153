"""Redaction of ordinary text, and of hostile text of growing size."""

from __future__ import annotations

from collections.abc import Iterator
from time import process_time

from benchmarks.report import Must, Row
from benchmarks.scale import Scale
from punchlist.text.redaction import redact

NOTE = (
    "CPU time. A hostile text repeats one piece; the ratio is the time of twice the size to the time of the size. "
    "Linear work has a ratio of 2, quadratic work of 4."
)
HOSTILE = (
    "x", "a=", 'password="', "curl -u ", "://a:", "-----BEGIN PRIVATE KEY-----", '"', "\\", "eyJ-", "key:", "key:[",
    "password:{", "mysql -p ", "echo a | sudo -S ", "set token ", "'Cookie:", "password:\n ", "'token=a ",
    "<password>", "echo 'a", "login <<< ", "a=b;token=", '\\"token=', "curl ' ; ", "token = f(", "pwd=/", "a|token\n",
    "token,a\n", "token  a\n", "$(", "( ", "secret set a=", "word ", "a=b\n",
)  # fmt: skip
"""Pieces of text that make a careless rule read the same characters again and again."""

_ORDINARY = (
    "$ git log --oneline -3\n4f1c2aa store: wait for other processes\n"
    "tests/test_store.py::test_a_write_is_durable PASSED [ 50%]\n"
    "src/app/main.py:41: error: Argument 1 has incompatible type [arg-type]\n"
    "The function reads the file, then it writes what it found to the table of results.\n"
)


def run(scale: Scale) -> Iterator[Row]:
    count = scale.count(2000, least=5)
    text = (_ORDINARY * 8)[:1600]
    start = process_time()
    for _ in range(count):
        redact(text)
    yield Row("1,600 ordinary characters", f"{(process_time() - start) / count * 1e6:.1f} µs")
    size = scale.count(500_000, least=2000)
    for piece in HOSTILE:
        yield _growth(f"{size:,} characters of `{piece!r}`", piece, size)
    size = scale.count(10_000_000, least=10_000)
    mixed = "\n".join(piece for piece in HOSTILE if "-----" not in piece)  # an open key block would mask the rest
    yield _growth(f"{size:,} characters of all pieces in turn", mixed, size)


def _growth(what: str, piece: str, size: int) -> Row:
    half, whole = (_cpu_seconds(piece * (characters // len(piece))) for characters in (size // 2, size))
    ratio = whole / max(half, 1e-6)
    return Row(what, f"{whole * 1e3:.1f} ms", f"{half * 1e3:.1f} ms for half", ratio, Must("≤", 3))


def _cpu_seconds(text: str) -> float:
    start = process_time()
    redact(text)
    return process_time() - start
