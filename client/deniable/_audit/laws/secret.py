"""The secret of a device under audit: a symbol that only the keyed function may take."""

from __future__ import annotations

from typing import NoReturn

from deniable._audit.failure import AuditFailure


class Secret:
    """Stands for every secret at once, so nothing may depend on which one it is.

    A randomizer may hand it on, and ask whether it is the very same as before. Whatever else it
    does, such as a look at a byte, raises `AuditFailure`: a branch on the secret would be followed
    for one secret only. What the keyed function makes of a secret is followed over all secrets.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other is not self and (type(other) is not bytes or other):
            self._refuse()
        return other is self  # no secret is empty

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise AuditFailure("a randomizer looks at the device's secret, which only keys may do")

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()

    __hash__ = __len__ = __iter__ = __getitem__ = __contains__ = __bytes__ = _refuse
    __bool__ = __int__ = __index__ = __float__ = __str__ = __repr__ = __format__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __reversed__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __reduce_ex__ = __buffer__ = _refuse


SECRET = Secret()
"""Of the device that is audited."""
