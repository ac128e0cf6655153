"""Build an async class from a synchronous one: each call runs on a thread of the board."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import wraps
from inspect import getattr_static
from typing import Any, TypeVar

C = TypeVar("C", bound=type)
_TWINS: dict[type[Any], type[Any]] = {}
"""The async class of each synchronous one."""


def make_async(kind: type, *, plain: Collection[str] = (), hidden: Collection[str] = ()) -> Callable[[C], C]:
    """Decorate an async class: give it each public method and property of `kind` that it does not define itself.

    An instance has `synchronous`, the object it stands for, and `_run`, which awaits blocking work. Methods and
    properties are awaited, except those named in `plain`, which do no I/O. Names in `hidden` are left out.
    """

    def add_members(twin: C) -> C:
        _TWINS[kind] = twin
        for name in dir(kind):
            if name.startswith("_") or name in hidden or hasattr(twin, name):
                continue
            member = getattr_static(kind, name)
            if isinstance(member, property):
                setattr(twin, name, (_plain_property if name in plain else _awaited_property)(name, member))
            elif callable(member):
                setattr(twin, name, (_plain_method if name in plain else _awaited_method)(name, member))
        return twin

    return add_members


def _awaited_method(name: str, method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _unwrap_arguments(args, kwargs)
        return _wrap_result(self, await self._run(getattr(self.synchronous, name), *args, **kwargs))

    return call


def _plain_method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _unwrap_arguments(args, kwargs)
        return _wrap_result(self, getattr(self.synchronous, name)(*args, **kwargs))

    return call


def _awaited_property(name: str, member: property) -> property:
    def read(self: Any) -> Awaitable[Any]:
        return self._run(getattr, self.synchronous, name)

    return property(read, doc=member.__doc__)


def _plain_property(name: str, member: property) -> property:
    def read(self: Any) -> Any:
        return getattr(self.synchronous, name)

    return property(read, doc=member.__doc__)


def _unwrap_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(map(_unwrap, args)), {name: _unwrap(value) for name, value in kwargs.items()}


def _unwrap(value: Any) -> Any:
    return value.synchronous if type(value) in _TWINS.values() else value


def _wrap_result(owner: object, result: object) -> Any:
    """Return the async handle of a synchronous one, on the owner's board; anything else as it is."""
    twin = _TWINS.get(type(result))
    if twin is None:
        return result
    return twin(getattr(owner, "board", owner), result)  # a board is its own owner
