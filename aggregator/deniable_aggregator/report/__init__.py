"""Reports of all metrics over some days, in one file."""

from deniable_aggregator.report.gathering import Failure, Report
from deniable_aggregator.report.writing import FORMS, Form, write_report

__all__ = ["FORMS", "Failure", "Form", "Report", "write_report"]
