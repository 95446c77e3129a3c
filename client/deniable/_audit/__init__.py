"""The audit of installed randomizers: enumerates P(report | value), and certifies epsilon."""

from deniable._audit.audit import audit, audit_metric
from deniable._audit.certificate import AuditedMetric, Certificate
from deniable._audit.failure import AuditFailure

__all__ = ["AuditFailure", "AuditedMetric", "Certificate", "audit", "audit_metric"]
