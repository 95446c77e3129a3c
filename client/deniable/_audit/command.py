"""``deniable audit``: walks through the installed randomizers, and writes a certificate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable._audit.audit import audit_draws, audit_metric, certificate_of
from deniable._audit.coverage import coverage
from deniable._audit.declared import declared_in
from deniable._audit.failure import PRIMITIVE_DRAWS, AuditFailure
from deniable._audit.method_text import how_it_was_found
from deniable._audit.sampling import MAX_REPORTS, MIN_REPORTS, Sample, sample
from deniable_shared.commands.parser import Parser, integer_in
from deniable_shared.commands.text import labelled_lines, wrapped
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.installed import is_packed
from deniable_shared.registry import load
from deniable_shared.replaced_file import replaced_file

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from deniable._audit.certificate import AuditedMetric, Certificate
    from deniable_shared.spec import Spec

_ABOUT: Final = """\
Walks through the random choices of the randomizers that are installed here, for
the metrics of FILE, and adds up in exact fractions how probable each report is
for each value. The largest ratio between two values is compared with the
epsilon that stands in FILE.

With --certificate what was found is written to a file, which can be checked
without Python: node check-certificate.mjs CERTIFICATE. The same FILE, installed
files and version of Python give the same certificate, to the byte.

Where a metric has too many values or choices to walk through all of them, it is
said how many were. See docs/reviewer/certificates.md. A program that is packed
with the client, as by PyInstaller, is audited as well, but has no files that a
certificate could name.

With --sample reports are also drawn with the system's randomness, and counted:
that shows what epsilon is at least, whatever the code says of itself. It proves
no upper limit, and the certificate does not mention it.

The exit status is 1 if a metric fails; then no certificate is written.

    deniable audit metrics.toml
    deniable audit metrics.toml --certificate certificate.json
    deniable audit metrics.toml --sample 100000
"""
_NOT_COVERED: Final = (
    "Not covered: values and draws that were left out, Python itself, mmh3, the operating system's "
    "randomness, that SHAKE-256 looks uniform, what the application records and how often, and the "
    "rest of the client, such as when reports are sent and to whom."
)


def parser() -> Parser:
    """The options of the command."""
    made = Parser("deniable audit", _ABOUT, arguments="FILE")
    made.add_argument("file", type=Path, metavar="FILE", help="A registry file.")
    made.add_argument(
        "--certificate", type=Path, metavar="FILE", help="Write the certificate to this file."
    )
    made.add_argument(
        "--sample",
        type=integer_in(MIN_REPORTS, MAX_REPORTS),
        metavar="N",
        help="Also draw N reports of each of two values; 100000 take seconds for each metric.",
    )
    made.add_argument("--json", action="store_true", help="Print JSON.")
    return made


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
        ParameterError: if there is no place for the certificate.
        DeniableError: if it cannot be written.
    """
    if options.certificate is not None:
        _check_place(options.certificate)
    registry = load(options.file)
    declared = declared_in(options.file.read_text(encoding="utf-8"))
    passed: list[AuditedMetric] = []
    samples: dict[str, Sample] = {}
    failures: list[AuditFailure] = []
    for name, metric in registry.metrics.items():
        _progress(f"walking through {name} ...")
        try:
            audited = audit_metric(metric, declared.get(name))
            if options.sample is not None:
                _progress(f"drawing reports of {name} ...")
                samples[name] = _sampled(metric.spec, options.sample)
        except AuditFailure as failure:
            failures.append(failure)
            lines = _failed(name, failure)
        else:
            passed.append(audited)
            lines = _passed(audited, samples.get(name))
        _progress("")
        if not options.json:
            print(*lines, "", sep="\n", flush=True)
    certificate = None
    draws: tuple[Mapping[str, Any], ...] = ()
    _progress("following the primitive draws ...")
    try:
        if is_packed():
            draws = audit_draws(passed)
        else:
            certificate = certificate_of(registry, passed)
            draws = certificate.primitives
    except AuditFailure as failure:
        failures.append(failure)
    _progress("")
    if certificate is not None and not failures and options.certificate is not None:
        _write(options.certificate, certificate)
    if options.json:
        print(json.dumps(_as_json(certificate, passed, samples, failures), indent=2))
    else:
        print("\n".join(wrapped(_summary(certificate, draws, failures, options.certificate))))
    return 1 if failures else 0


def _check_place(path: Path) -> None:
    """Refuses a certificate that could not be made or written, before minutes of audit."""
    if is_packed():
        raise ParameterError(
            "--certificate", "left out in a packed program, which has no files to name", str(path)
        )
    if path.is_dir() or not path.parent.is_dir():
        raise ParameterError("--certificate", "a file in a folder that is there", str(path))


def _write(path: Path, certificate: Certificate) -> None:
    try:
        with replaced_file(path) as file:
            file.write(certificate.to_bytes())
    except OSError as error:
        raise DeniableError(f"{path}: cannot be written: {error.strerror}") from error


def _sampled(spec: Spec, reports: int) -> Sample:
    """What drawn reports show; an `AuditFailure` if it is more than is stated."""
    found = sample(spec, reports)
    if found.exceeds:
        raise AuditFailure(
            f"{reports:,} reports of each of two values show an epsilon of at least "
            f"{found.lower:.4f}, and {found.stated:.4f} is stated",
            spec.name,
        )
    return found


def _passed(metric: AuditedMetric, found: Sample | None) -> list[str]:
    rows = [*_rows(metric)]
    if found is not None:
        shown = f"epsilon at least {found.lower:.4f}, by {found.reports:,} reports of each of two"
        rows.append(("sampled", f"{shown} values"))
    first = f"{metric.spec.name}: passed, {coverage(metric.verdict.section)}"
    return [*wrapped([first], "  "), *labelled_lines(rows)]


def _rows(metric: AuditedMetric) -> Iterator[tuple[str, str]]:
    section, mechanism, declared = metric.verdict.section, metric.spec.mechanism, metric.declared
    yield "mechanism", f"{mechanism.title} ({mechanism.name})"
    delta = metric.verdict.delta
    if delta is None:
        yield "one report", _beside_the_file(section.report.nats, declared.epsilon)
    else:
        allowed = f"{_shown(declared.epsilon)} and {_shown(declared.delta)}"
        found = f"epsilon {mechanism.epsilon:g} and delta {float(delta):.7g} found"
        yield "one report", f"{found}; the file allows {allowed}"
    if section.kept is not None:
        yield "all reports", _beside_the_file(section.kept.nats, declared.epsilon_permanent)
    one, other = section.report.values
    yield "worst values", f"{one!r} and {other!r}"
    yield "how", how_it_was_found(section)
    for part in section.parts:
        yield f"{part.mechanism.name} inside", how_it_was_found(part)


def _beside_the_file(nats: float, allowed: Fraction | None) -> str:
    return f"epsilon {nats:.10f} found; the file allows {_shown(allowed)}"


def _shown(number: Fraction | None) -> str:
    assert number is not None  # what is not in the file has failed
    return str(float(number)).removesuffix(".0")


def _failed(name: str, failure: AuditFailure) -> list[str]:
    return [f"{name}: FAILED", *labelled_lines([("reason", failure.reason)])]


def _summary(
    certificate: Certificate | None,
    draws: tuple[Mapping[str, Any], ...],
    failures: list[AuditFailure],
    path: Path | None,
) -> Iterator[str]:
    if failures:
        for failure in failures:
            if failure.metric == PRIMITIVE_DRAWS:
                yield f"{failure.metric} FAILED: {failure.reason}"
        yield "This is not what the file states. Do not ship it: no certificate was written."
        return
    names = ", ".join(str(each["primitive"]) for each in draws)
    yield f"The basic random draws also have the right probabilities: {names}."
    if certificate is None:
        yield "Audited: the code inside this program, which has no files for a certificate to name."
    else:
        installed = certificate.installed
        yield (
            f"Audited: {len(installed.files)} files, digest {installed.digest_to_read_out} (the "
            "first 16 of 64 digits; compare with deniable verify)."
        )
    yield _NOT_COVERED
    if path is not None:
        yield f"Certificate: {path}"


def _as_json(
    certificate: Certificate | None,
    passed: list[AuditedMetric],
    samples: dict[str, Sample],
    failures: list[AuditFailure],
) -> dict[str, Any]:
    return {
        "passed": [metric.spec.name for metric in passed],
        "sampled": {
            name: {"reports": found.reports, "epsilon_at_least": found.lower}
            for name, found in samples.items()
        },
        "failed": [{"metric": each.metric, "reason": each.reason} for each in failures],
        "certificate": None if failures or certificate is None else certificate.to_data(),
    }


def _progress(text: str) -> None:
    """Shows a line on a terminal, and takes it away again; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
