"""`punchlist token`: make, list and revoke the tokens by which programs and people reach the server."""

from __future__ import annotations

import secrets
from argparse import Namespace
from hashlib import sha256

from punchlist.cli.arguments import Parser, command_parser, open_board
from punchlist.cli.terminal import detect_display, show, show_json
from punchlist.errors import InvalidInput
from punchlist.settings.environment import login_name, project_of
from punchlist.store import Transaction
from punchlist.surfaces.spans import Span, ago, safe_line

_SCOPES = {
    "look": "read everything",
    "answer": "and answer questions, decide on plans",
    "edit": "and change lists and tasks",
}
_LONGEST_NAME = 60
_EXAMPLES = """\
  punchlist token create dashboard                    to look only
  punchlist token create ci --scope edit --project .   to change lists and tasks of this project
  punchlist token revoke ci
"""


def parser() -> Parser:
    about = (
        "Makes, lists and revokes tokens for `punchlist serve`. A program sends one as `Authorization: Bearer …`; a "
        "person opens `http://…/?token=…`. The board keeps a hash of it, so it is shown only once."
    )
    made = command_parser("token", about, examples=_EXAMPLES)
    add_verb = made.add_verbs(first="list")
    create = add_verb("create", "make a token and print it, once", _create)
    create.add_argument("name", metavar="NAME", help="what it is for")
    which = "; ".join(f"{scope}: {about}" for scope, about in _SCOPES.items())
    create.add_argument("--scope", choices=list(_SCOPES), default="look", metavar="S", help=f"{which} (default: look)")
    create.add_argument("--project", metavar="DIR", help="only for the project to which this folder belongs")
    create.add_argument("--person", action="store_true", help="for a person: what they complete is confirmed")
    create.add_json()
    add_verb("list", "list the tokens", _list).add_json()
    add_verb("revoke", "end a token at once", _revoke).add_argument("name", metavar="NAME", help="its name")
    return made


def _create(options: Namespace) -> None:
    name: str = options.name
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInput(problem=f"A token's name has 1 to {_LONGEST_NAME} printable characters.")
    if name == login_name():
        problem = f"`{name}` is your own name, and what the token changes would count as done by you; take another."
        raise InvalidInput(problem=problem)
    secret = f"pl_{secrets.token_urlsafe(32)}"
    project = None if options.project is None else project_of(options.project)

    def add(tx: Transaction) -> None:
        if tx.tokens.find(name=name) is not None:
            raise InvalidInput(problem=f"There is a token `{name}` already; revoke it, or take another name.")
        tx.tokens.add(
            name, sha256(secret.encode()).digest(), options.scope, project, at=board.now(), is_person=options.person
        )

    with open_board(options) as board:
        board.store.transact(add)
    if options.json:
        given = {"name": name, "scope": options.scope, "project": project, "is_person": options.person}
        show_json({**given, "token": secret})
    else:
        print(secret)


def _list(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        rows, now = board.store.read(lambda tx: tx.tokens.list()), board.now()
    if options.json:
        fields = ("name", "scope", "project", "is_person", "created_at")
        show_json([{name: getattr(row, name) for name in fields} for row in rows])
        return
    if not rows:
        print("There are no tokens; `punchlist token create NAME` makes one.")
        return
    display = detect_display()
    show(
        display.cut(
            (
                Span(f"{safe_line(row.name):<24}", "bold"),
                Span(f"  {row.scope:<7}  {ago(row.created_at, now):<15}", "dim"),
                Span(f"  {safe_line(row.project)}" if row.project else ""),
            )
        )
        for row in rows
    )


def _revoke(options: Namespace) -> None:
    with open_board(options, reads=True) as board:
        if not board.store.transact(lambda tx: tx.tokens.remove(options.name)):
            raise InvalidInput(problem=f"There is no token `{options.name}`; `punchlist token list` shows them.")
    print(f"Revoked {safe_line(options.name)}.")
