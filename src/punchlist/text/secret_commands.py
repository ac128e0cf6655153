"""Tell commands that print nothing but a secret: their whole output is masked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from punchlist.text.patterns import compile_later
from punchlist.text.redaction import secrecy
from punchlist.text.shell import SimpleCommand, parse, walk

_PRINTS_SECRET: Final = tuple(
    tuple(row.split())
    for row in """
    vault read -field
    vault kv get -field
    op read
    op item get --reveal
    pass show
    gopass show -o|--password
    aws secretsmanager get-secret-value
    aws ssm get-parameter --with-decryption
    gcloud secrets versions access
    kubectl get secret|secrets
    oc get secret|secrets
    security find-generic-password|find-internet-password -w
    az keyvault secret show
    bw get password|totp|notes
    heroku config:get
    terraform output -raw
    tofu output -raw
    openssl rand
    doppler secrets get --plain
    chamber read -q
    secret-tool lookup
    """.strip().splitlines()
)
"""Words that stand in a command in this order; `a|b` is one of them, and an option may have its value behind `=`."""

_SECRET_FILE: Final = compile_later(r"(?:/var)?/run/secrets/.+")
_SHOWS_FILE: Final = frozenset({"cat", "head", "tail", "less", "more", "bat", "base64"})
_VARIABLE: Final = compile_later(r"\$\{?(\w+)")


def prints_secret(line: str) -> bool:
    """True if a command of the line prints a secret, and so its output is one."""
    return any(_is_secret(node.words) for node in walk(parse(line)) if isinstance(node, SimpleCommand))


def _is_secret(words: Sequence[str]) -> bool:
    names = [word.rpartition("/")[2] for word in words]
    if any(_has_words(row, names) for row in _PRINTS_SECRET):
        return True
    if not _SHOWS_FILE.isdisjoint(names):
        return any(_SECRET_FILE.fullmatch(word) for word in words)
    if "printenv" in names:
        return any(secrecy(word) != "none" for word in words[1:])
    if "echo" in names or "printf" in names:
        return any(secrecy(name) != "none" for word in words for name in _VARIABLE.findall(word))
    return False


def _has_words(row: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return all(any(re.fullmatch(f"-?(?:{wanted})(?:=.*)?", word) for word in rest) for wanted in row)
