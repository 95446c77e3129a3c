"""Letting go of what an exception holds."""

from __future__ import annotations


def release_frames(error: BaseException | None) -> None:
    """Has an exception that was dealt with hold no frames, and so nothing of what they refer to.

    The frames of a transport may refer to the exception that they raised. Such a cycle would keep
    all callers' variables alive until the garbage collector comes by: an engine, with its thread
    and its open files, that nobody else holds any longer.
    """
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
