"""Frozen values: what ``dataclass(frozen=True)`` makes, without what that costs at import.

Importing the client takes 16 ms of CPU time, and took 27 ms with `dataclasses`, whose module loads
`inspect` and `ast`, and whose decorator compiles six methods for every class. Here all classes
share their methods. The functions of `dataclasses` work on them.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

    _T = TypeVar("_T")
else:

    def dataclass_transform(**_: object) -> Callable[[_T], _T]:
        """What tells type checkers; its home, typing, takes a fifth of the time to import."""
        return lambda decorator: decorator


_NAMES: Final = "_frozen_names"
_DEFAULTS: Final = "_frozen_defaults"


@dataclass_transform(frozen_default=True)
def frozen(cls: type[_T]) -> type[_T]:
    """Makes a class of frozen values from its annotated fields.

    As with ``dataclass(frozen=True)``: arguments by place or by name, defaults, fields of base
    classes first, `__post_init__`; equal if class and fields are, hashed and shown by fields.
    """
    names = dict.fromkeys(getattr(cls, _NAMES, ()))
    defaults = dict(getattr(cls, _DEFAULTS, {}))
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if not annotation.startswith("ClassVar"):
            names[name] = None
            if name in vars(cls):
                defaults[name] = vars(cls)[name]
    shared = {
        _NAMES: tuple(names),
        _DEFAULTS: defaults,
        "__match_args__": tuple(names),
        "__dataclass_fields__": _StandardFields(),
        "__init__": _init,
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
    }
    for name, value in shared.items():
        setattr(cls, name, value)
    return cls


def field_names(cls: type) -> tuple[str, ...]:
    """The names of the fields of a frozen class, in their order."""
    names: tuple[str, ...] = getattr(cls, _NAMES)
    return names


class _StandardFields:
    """The fields as `dataclasses` wants them, made when one of its functions first asks."""

    def __init__(self) -> None:
        self._made: dict[type, dict[str, Field[Any]]] = {}

    def __get__(self, _instance: object, owner: type) -> dict[str, Field[Any]]:
        if owner not in self._made:
            self._made[owner] = self._make(owner)
        return self._made[owner]

    @staticmethod
    def _make(owner: type) -> dict[str, Field[Any]]:
        from dataclasses import field, make_dataclass

        defaults = getattr(owner, _DEFAULTS)
        standard: Any = make_dataclass(
            owner.__name__,
            [
                (name, object, field(default=defaults[name]) if name in defaults else field())
                for name in getattr(owner, _NAMES)
            ],
        )
        fields: dict[str, Field[Any]] = standard.__dataclass_fields__
        return fields


def _init(self: Any, *arguments: Any, **by_name: Any) -> None:
    names = self._frozen_names
    placed = dict(zip(names, arguments, strict=False))
    values = {**self._frozen_defaults, **placed, **by_name}
    if len(arguments) > len(names) or placed.keys() & by_name or values.keys() != {*names}:
        arguments_given = f"{len(arguments)} by place, {sorted(by_name)} by name"
        raise TypeError(
            f"{type(self).__name__} takes {', '.join(names)} once each, got {arguments_given}"
        )
    self.__dict__.update(values)
    check = getattr(self, "__post_init__", None)
    if check is not None:
        check()


def _values(self: Any) -> tuple[object, ...]:
    return tuple([self.__dict__[name] for name in self._frozen_names])


def _repr(self: Any) -> str:
    fields = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._frozen_names)
    return f"{type(self).__qualname__}({fields})"


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{name} of a {type(self).__name__} cannot be changed")
