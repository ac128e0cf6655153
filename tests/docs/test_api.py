"""docs/api.md has every public name with its docstring, as the program has them."""

import inspect
import re
import sys

from tools import write_api

import punchlist
from punchlist import errors

PAGE = write_api.PAGE.read_text(encoding="utf-8")
HEADS = set(re.findall(r"(?m)^### (\w+)$", PAGE)) | set(re.findall(r"(?m)^\|[– ]+`(\w+)`", PAGE))
WITHIN = {"Flows", "Store", "Transaction", "Transcript", "Work", "FlowWork", "Written", "StartedCall", "EndedCall"}
"""Classes in the signatures of handles that a caller need not know, or that have a page of their own."""


def test_the_page_says_what_the_program_says() -> None:
    assert write_api.api_page() == PAGE, "run `make docs`"


def test_every_exported_name_is_on_the_page() -> None:
    assert set(punchlist.__all__) - HEADS == {"__version__"}
    kinds = {name for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, Exception)}
    assert kinds <= HEADS


def test_every_public_name_has_a_docstring() -> None:
    assert write_api.undocumented() == []


def test_every_record_that_a_handle_returns_is_on_the_page() -> None:
    returned = set(re.findall(r"[A-Z]\w+", " ".join(re.findall(r"(?m)^- \*\*`.*(?:->|:) (.*)`\*\*$", PAGE))))
    modules = [sys.modules[base.__module__] for handle in write_api.HANDLES for base in handle.__mro__]
    known = {name: one for module in modules for name, one in vars(module).items() if inspect.isclass(one)}
    ours = {name for name in returned if name in known and known[name].__module__.startswith("punchlist.")}
    assert ours - HEADS - WITHIN == set()
