"""What waits on a person, with the commands that resolve it."""

from __future__ import annotations

from shlex import quote

from msgspec.structs import asdict

from punchlist.core.overview import PersonWait


class WaitView(PersonWait, frozen=True, kw_only=True):
    """Something that waits on a person. `answer` has the commands that resolve it in a terminal."""

    answer: tuple[str, ...]


def show_wait(wait: PersonWait) -> WaitView:
    return WaitView(**asdict(wait), answer=answer_commands(wait))


def answer_commands(wait: PersonWait) -> tuple[str, ...]:
    """Return the commands that resolve a wait and no other, from whichever folder: with its list or its agent."""
    agent = (("--session", wait.session), ("--agent", wait.agent))
    places = (("--list", wait.list),) if wait.list else agent
    place = "".join(f" {option} {quote(name)}" for option, name in places if name)
    return tuple(f"punchlist answer {wait.name} {answer}{place}" for answer in wait.answers)
