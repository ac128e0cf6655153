"""A value that is made when it is first asked for, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - it stands where `property` would
    """Like `functools.cached_property` without its lock, of which a class, before Python 3.12, has one for all objects.

    A child of a fork would find that held for ever if another thread just made such a value. Two threads may make it at
    the same time; all get the same one.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> T: ...
    def __get__(self, instance: object | None, owner: type[Any]) -> once[T] | T:
        if instance is None:
            return self
        return cast("T", instance.__dict__.setdefault(self._name, self._make(instance)))
