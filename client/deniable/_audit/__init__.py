"""The audit of installed randomizers: enumerates P(report | value), and certifies epsilon."""

from deniable._audit.audit import audit_metric, certificate_of
from deniable._audit.certificate import AuditedMetric, Certificate
from deniable._audit.declared import Declared, declared_in
from deniable._audit.failure import AuditFailure

__all__ = [
    "AuditFailure",
    "AuditedMetric",
    "Certificate",
    "Declared",
    "audit_metric",
    "certificate_of",
    "declared_in",
]
