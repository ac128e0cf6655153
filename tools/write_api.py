"""Write docs/api.md: every public name with its signature and its docstring.

`python tools/write_api.py` writes it; with `--check` it only says whether it is out of date, and fails if it is.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, cast, is_typeddict

import punchlist
from punchlist import aio, errors, flows, reader, testing
from punchlist.agent.detectors import Stall
from punchlist.core import approval, overview, report, task
from punchlist.core.grounding import session, tally
from punchlist.guidance import compaction, layers, ledger, plan_mode
from punchlist.guidance import rules as guidance_rules
from punchlist.settings import options
from punchlist.store import plans, records
from punchlist.tasks import fields, gates
from punchlist.tasks import handle as tasks_handle

PAGE = Path(__file__).resolve().parent.parent / "docs" / "api.md"

_INTRO = """\
# API

Every public name, from its docstring. Names of `punchlist` are imported from there; other names say from where.
The commonest path: [`Board.open`](#board) → [`board.agent(…)`](#agent) → offer `agent.tools` to a model and answer its
calls with `agent.call(…)`. [examples/](../examples/README.md) has whole programs, [glossary.md](glossary.md) the words.

Handles do the work, [records](#records) are what they return (frozen: nothing changes under you), and
[keywords](#keywords) are the options of the long calls. Every [error](#errors) is a `PunchlistError` with a stable
`code`. Async code has the same names in [`punchlist.aio`](#async).
"""
_ASYNC = """\
`from punchlist.aio import Board`. It has the names of the synchronous board, `Agent` and `Tasks`, with the same
parameters. What reaches the store is awaited; these members are plain: {plain}. See [async.md](async.md).
"""
_COMPATIBILITY = """\
Flows are work in named steps, in the words of nexo's `taskflow`; see [flows.md](flows.md). New programs use tasks.
"""

HANDLES = (punchlist.Board, punchlist.Agent, punchlist.Conversation, punchlist.Tasks)
RECORDS = (
    punchlist.Tool,
    punchlist.Reply,
    punchlist.Problem,
    punchlist.TodoList,
    punchlist.TodoItem,
    punchlist.Status,
    punchlist.Phase,
    punchlist.Progress,
    punchlist.Blocker,
    punchlist.Evidence,
    punchlist.Injection,
    punchlist.Outcome,
    punchlist.Verdict,
    punchlist.Event,
    punchlist.Plan,
    punchlist.Refusal,
    plan_mode.PlanMode,
    approval.Question,
    punchlist.CurrentWork,
    punchlist.Task,
    punchlist.TaskStatus,
    task.Wait,
    task.ChecklistLine,
    task.LateResult,
    tasks_handle.TaskGraph,
    gates.Gate,
    records.ListRow,
    records.SessionRow,
    plans.PlanRow,
    overview.PersonWait,
    overview.AgentOverview,
    report.Report,
    report.ItemReport,
    report.Totals,
    session.SessionState,
    session.CheckState,
    report.Brief,
    report.ListNews,
    report.Noticed,
    tally.Tally,
    Stall,
    ledger.AgentCost,
    ledger.Cost,
    layers.Layer,
)
KEYWORDS = (
    options.AgentOptions,
    guidance_rules.GuidanceSettings,
    fields.NewTask,
    fields.TaskChanges,
    tasks_handle.ClaimOptions,
)
FLOWS = (
    flows.Flows,
    flows.Flow,
    flows.FlowStatus,
    flows.FlowStep,
    flows.WaitCondition,
    flows.NewFlow,
    flows.TickReport,
)
_DEFAULT = re.compile(r"(: [^=]*?)=")
"""The sign before a default, which `ast.unparse` writes without spaces."""

_PARTS: dict[type[Any], Sequence[type[Any]]] = {
    punchlist.Board: (reader.BoardReader, punchlist.Board),
}
"""Classes whose members are shown in another order than that of their bases."""


@cache
def api_page() -> str:
    """Return the page."""
    parts = [_INTRO, "## Handles"]
    for one in HANDLES:
        parts += [*_class(one)]
    parts += ["## Records", *(line for one in RECORDS for line in _class(one))]
    parts += ["## Keywords", *(line for one in KEYWORDS for line in _class(one))]
    merge = compaction.merge_block
    parts += ["## Functions", f"`from {merge.__module__} import {merge.__name__}`", f"- {_function(merge)}"]
    parts += ["## Errors", "From `punchlist.errors`. A dash shows what an error is a kind of.", _errors()]
    parts += ["## Async", _text(_ASYNC.format(plain=", ".join(_plain_members())))]
    parts += ["## For tests", *_class(testing.FakeClock), *list(_class(testing.FaultyStore))[:3]]
    parts += ["## Compatibility", _COMPATIBILITY, *(line for one in FLOWS for line in _class(one))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _home(name: str, module: str) -> str:
    if name in flows.__all__:
        return flows.__name__
    return "punchlist" if name in punchlist.__all__ else module


def _class(kind: type[Any]) -> Iterator[str]:
    """Yield a class: heading, docstring, fields or values, then its members under the comments of its source."""
    yield f"### {kind.__name__}"
    home = _home(kind.__name__, _public_module(kind))
    if home != "punchlist":
        yield f"`from {home} import {kind.__name__}`"
    yield _text(kind.__doc__)
    if issubclass(kind, Enum):
        yield " · ".join(f"`{value.value}`" for value in kind)
    elif shown := "\n".join(_fields(kind)):
        yield f"```python no-run\n{shown}\n```"
    lines = [line for part in _PARTS.get(kind, _own_bases(kind)) for line in _members(part, kind)]
    if lines:
        yield "\n".join(lines).strip("\n")


def _public_module(kind: type[Any]) -> str:
    """Return the shortest module or package that exports a class."""
    parts = kind.__module__.split(".")
    for length in range(2, len(parts)):
        package = sys.modules[".".join(parts[:length])]
        if kind.__name__ in getattr(package, "__all__", ()):
            return package.__name__
    return kind.__module__


def _own_bases(kind: type[Any]) -> Sequence[type[Any]]:
    return [one for one in kind.__mro__ if one.__module__.startswith("punchlist")]


def _text(doc: str | None, indent: str = "") -> str:
    """Return a docstring as paragraphs of lines that fit the page."""
    wrap = textwrap.TextWrapper(120, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    paragraphs = inspect.cleandoc(doc or "").split("\n\n")
    return ("\n" if indent else "\n\n").join(wrap.fill(" ".join(one.split())) for one in paragraphs)


@cache
def _definition(kind: type[Any]) -> tuple[ast.ClassDef, list[str]]:
    source = textwrap.dedent(inspect.getsource(kind))
    found = ast.parse(source).body[0]
    assert isinstance(found, ast.ClassDef)
    return found, source.splitlines()


def _fields(kind: type[Any]) -> Iterator[str]:
    """Yield the fields of a record or of keywords, each with the docstring that follows it."""
    for part in reversed(_own_bases(kind)):
        if not (hasattr(part, "__struct_fields__") or hasattr(part, "_fields") or is_typeddict(part)):
            continue
        body = _definition(part)[0].body
        for node, after in zip(body, [*body[1:], None], strict=True):
            if not isinstance(node, ast.AnnAssign) or ast.unparse(node.target).startswith("_"):
                continue
            line = re.sub(r"field\(default_factory=(dict|list|set)\[.*", "{}", ast.unparse(node))
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            yield f"{line}  # {' '.join(str(said).split())}" if said else line


def _members(part: type, kind: type[Any]) -> Iterator[str]:
    """Yield public methods and properties that a class body defines, under the headings that its comments make."""
    found, lines = _definition(part)
    heads = {
        number: match[1]
        for number, line in enumerate(lines, 1)
        if (match := re.match(r"    # ([A-Z][^.:]+)\.", line)) and not lines[number - 2] and not lines[number]
    }
    for name, line in _names(found):
        for number in [number for number in heads if number < line]:
            yield f"\n**{heads.pop(number)}**\n"
        yield _member(kind, name)


def _names(found: ast.ClassDef) -> Iterator[tuple[str, int]]:
    """Yield the public names that a class body defines, with their lines; a name with overloads once."""
    seen = set[str]()
    for node in found.body:
        name = ""
        if isinstance(node, ast.FunctionDef):
            name = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.targets[0])
        if name and not name.startswith("_") and name not in seen:
            seen.add(name)
            yield name, node.lineno


def _member(kind: type[Any], name: str) -> str:
    member: Any = inspect.getattr_static(kind, name)
    if isinstance(member, property):
        assert member.fget is not None
        return f"- **`{name}: {_returns(_parse(member.fget))}`**\n{_text(member.__doc__, '  ')}".rstrip()
    return f"- {_function(getattr(member, '__func__', member))}"


def _function(function: Callable[..., Any]) -> str:
    function = inspect.unwrap(function)
    found = _parse(function)
    arguments = found.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    for one in (*arguments.args, *arguments.kwonlyargs, arguments.kwarg):
        if one is not None and one.annotation is not None and ast.unparse(one.annotation).startswith("Unpack"):
            one.annotation = ast.parse(ast.unparse(one.annotation)[7:-1], mode="eval").body
    shown = _DEFAULT.sub(r"\1 = ", ast.unparse(arguments))
    return f"**`{found.name}({shown}) -> {_returns(found)}`**\n{_text(function.__doc__, '  ')}".rstrip()


def _parse(function: Callable[..., Any]) -> ast.FunctionDef:
    found = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def _returns(found: ast.FunctionDef) -> str:
    return "None" if found.returns is None else ast.unparse(found.returns)


def _errors() -> str:
    """Return the tree of errors as a table: name, code and message."""
    rows = ["| error | code | message |", "|---|---|---|"]

    def add(kind: type[errors.PunchlistError], depth: int) -> None:
        message = " ".join((kind.__doc__ or "").split()).replace("|", "\\|")
        rows.append(f"| {'– ' * depth}`{kind.__name__}` | `{kind.code}` | {message} |")
        for child in kind.__subclasses__():
            if child.__module__ == errors.__name__ and child.__bases__[0] is kind:
                add(child, depth + 1)

    add(errors.PunchlistError, 0)
    return "\n".join(rows)


def _plain_members() -> Iterator[str]:
    """Yield the members of the async classes that are not awaited."""
    for kind, synchronous in ((aio.Board, punchlist.Board), (aio.Agent, punchlist.Agent), (aio.Tasks, punchlist.Tasks)):
        for name in dir(synchronous):
            member: Any = inspect.getattr_static(kind, name, None)
            if name.startswith("_") or member is None:
                continue
            function = member.fget if isinstance(member, property) else inspect.unwrap(getattr(kind, name))
            awaited = inspect.iscoroutinefunction(member) or inspect.isasyncgenfunction(member)
            if not awaited and "Awaitable" not in str(inspect.signature(cast("Any", function)).return_annotation):
                yield f"`{kind.__name__.lower()}.{name}`"


def undocumented() -> list[str]:
    """Return the public names on the page that have no docstring."""
    shown = (*HANDLES, *RECORDS, *KEYWORDS, *FLOWS)
    # A NamedTuple without a docstring is given one by Python: its name and fields.
    bare = [one.__name__ for one in shown if not one.__doc__ or one.__doc__.startswith(f"{one.__name__}(")]
    return bare + re.findall(r"(?m)^- \*\*`(.*)`\*\*\n(?!  )", api_page() + "\n")


def main() -> int:
    text = api_page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and text == PAGE.read_text(encoding="utf-8"):
        return 0
    print(f"docs/{PAGE.name} is out of date; run `make docs`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
