"""The audit of the primitive draws: what all randomizers draw by."""

from deniable._audit.primitives.calls import audit_primitives

__all__ = ["audit_primitives"]
