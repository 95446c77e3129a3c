"""``deniable try``: records every metric of a registry once, and shows what leaves the device."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deniable._consent import forbids_tracking
from deniable._transport.http import HttpTransport, Transport
from deniable._trial.trial import Trial, Trials
from deniable_shared.characters import visible
from deniable_shared.commands.parser import Parser
from deniable_shared.commands.text import byte_count, labelled_lines, metric_kind, wrapped
from deniable_shared.errors import DeniableError, ParameterError
from deniable_shared.nearest import did_you_mean
from deniable_shared.periods import often
from deniable_shared.registry import Metric, Registry, load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from deniable._trial.samples import Value
    from deniable_shared.spec import Spec

SHOWN_BYTES: Final = 24
"""How many bytes of a report are printed for people; --json has all."""

_ABOUT: Final = """\
Records every metric of FILE once, as a new device would: by the real client,
with a made-up value, in a temporary folder that is deleted at the end. It shows
what a value becomes and what leaves the device, and how a wrong value is
answered.

With an endpoint and a key the reports are sent, and the server's answer is
shown for each. The server counts them like those of any other device, so use a
key of its own for trials: deniable keys exclude leaves its reports out.

The exit status is 1 if a metric could not be recorded, or its report was not
accepted.
"""
_INTRODUCTION: Final = (
    "Each metric is recorded once with an invented value, on a temporary device. The upload "
    "contains the report, its day, the metric's version, a random number used once, and padding so "
    "that its size does not reveal the metric."
)


def parser() -> Parser:
    """The options of the command."""
    made = Parser("deniable try", _ABOUT, arguments="FILE")
    made.add_argument("file", type=Path, metavar="FILE", help="A registry file.")
    made.add_argument(
        "--endpoint",
        metavar="URL",
        default=os.environ.get("DENIABLE_ENDPOINT") or None,
        help="The server to send to. Also from DENIABLE_ENDPOINT. Default: nothing is sent.",
    )
    made.add_argument(
        "--key",
        metavar="KEY",
        default=os.environ.get("DENIABLE_KEY") or None,
        help="The application's write key. Better from DENIABLE_KEY: others on this machine can "
        "see options.",
    )
    made.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        help="Only this metric; may be repeated.",
    )
    made.add_argument("--json", action="store_true", help="Print JSON.")
    return made


def run(options: argparse.Namespace) -> int:
    """Runs the command, and returns the exit status.

    Raises:
        RegistryError: if the file cannot be read, or has problems.
        ParameterError: if the endpoint or key cannot be used.
        DeniableError: if a metric is unknown, or the environment refuses recording.
    """
    registry = load(options.file)
    chosen = _chosen(registry, options.metric)
    transport = _transport(options.endpoint, options.key)
    if forbids_tracking(os.environ):
        raise DeniableError(
            "DO_NOT_TRACK is set, so nothing can be recorded here; "
            "to try metrics with made-up values: DO_NOT_TRACK=0 deniable try ..."
        )
    if not options.json:
        print(*wrapped([_INTRODUCTION]), "", sep="\n")
    shown: list[Trial] = []
    with (
        tempfile.TemporaryDirectory(prefix="deniable-try-") as folder,
        closing(Trials(registry, Path(folder), transport).of(chosen)) as trials,
    ):
        for metric, trial in zip(chosen, trials, strict=True):
            shown.append(trial)
            if not options.json:
                print(*_lines(metric, trial, sends=transport is not None), "", sep="\n", flush=True)
    if options.json:
        said = {
            "application": registry.application,
            "endpoint": options.endpoint,
            "metrics": list(map(_as_json, shown)),
        }
        print(json.dumps(said, indent=2))
    else:
        print("\n".join(wrapped(_summary(shown, sends=transport is not None))))
    return 1 if any(trial.failed for trial in shown) else 0


def _chosen(registry: Registry, names: list[str] | None) -> list[Metric]:
    for name in names or ():
        if name not in registry.metrics:
            guess = did_you_mean(name, list(registry.metrics))
            raise DeniableError(f"metric must be one of the file, got {name!r}.{guess}")
    return [registry.metrics[name] for name in dict.fromkeys(names or registry.metrics)]


def _transport(endpoint: str | None, key: str | None) -> Transport | None:
    if endpoint is None and key is None:
        return None
    if endpoint is None or key is None:
        missing = "key" if key is None else "endpoint"
        raise ParameterError(missing, "given as well, to send reports", None)
    return HttpTransport(endpoint, key)


def _lines(metric: Metric, trial: Trial, *, sends: bool) -> list[str]:
    return [
        f"{trial.metric}: {metric_kind(metric.spec)}, {often(metric.spec.every)}",
        *labelled_lines(_rows(metric, trial, sends=sends)),
    ]


def _rows(metric: Metric, trial: Trial, *, sends: bool) -> Iterator[tuple[str, str]]:
    segment = "" if trial.segment is None else f", segment {_quoted(trial.segment)}"
    yield "value", f"{_quoted(trial.value)}{segment}, made up"
    if trial.sent is None:
        yield "outcome", f"{trial.outcome}: {trial.problem}"
    else:
        sent = trial.sent
        yield "report", f"{_hex(sent.noise)}, {byte_count(len(sent.noise))}: {sent.meaning}"
        yield (
            "upload",
            f"{byte_count(len(sent.body))}, day {sent.day}, version {sent.version.hex()[:16]}"
            f"{_why_this_day(metric.spec, trial)}",
        )
    wrong = trial.refused
    if wrong.outcome != trial.outcome:
        yield "wrong value", f"{_quoted(wrong.value)} is answered {wrong.outcome}: {wrong.problem}"
    if trial.sent is not None and sends:
        yield "server", _answer(trial)


def _why_this_day(spec: Spec, trial: Trial) -> str:
    why = "every value of a period counts" if spec.picks else "it counts absence"
    if trial.held_until is not None:
        return f"; {why}, so its report waits until {trial.held_until}"
    if trial.waits:
        return f"; {why}, so its report left after the end of its period"
    return ""


def _answer(trial: Trial) -> str:
    if trial.held_until is not None:
        return f"not sent before {trial.held_until}"
    if trial.relay_required:
        return "not sent, as it is taken through the relay alone"
    if trial.answer is None:
        return "not sent, as the answer before would be given again"
    return "has stored it" if trial.answer.accepted else f"{trial.answer.problem}"


def _summary(trials: list[Trial], *, sends: bool) -> Iterator[str]:
    bad, expired = (
        [each.metric for each in trials if test(each)]
        for test in (lambda each: each.failed, lambda each: each.sent is None and not each.failed)
    )
    count = f"{len(trials):,} metric{'s' * (len(trials) != 1)}"
    if bad:
        yield f"{len(bad):,} of {count} failed: {', '.join(bad)}."
    elif expired:
        yield f"{count}, {len(expired):,} of them expired: {', '.join(expired)}."
    else:
        yield f"{count} recorded."
    counted = sum(each.answer is not None and each.answer.accepted for each in trials)
    if counted:
        yield (
            f"The server has stored {counted:,} made-up report{'s' * (counted != 1)}, as those of "
            "one more device. For trials use a key of its own: deniable keys exclude leaves its "
            "reports out of every estimate."
        )
    elif not (sends or bad):
        yield (
            "Nothing was sent. With --endpoint and --key, or DENIABLE_ENDPOINT and DENIABLE_KEY, "
            "it is, and the server's answer is shown."
        )
    yield "The made-up device is deleted."


def _as_json(trial: Trial) -> dict[str, Any]:
    sent, answer = trial.sent, trial.answer
    return {
        "metric": trial.metric,
        "value": trial.value,
        "segment": trial.segment,
        "outcome": trial.outcome,
        "problem": trial.problem,
        "failed": trial.failed,
        "held_until": trial.held_until and trial.held_until.isoformat(),
        "wrong_value": {
            "value": trial.refused.value,
            "outcome": trial.refused.outcome,
            "problem": trial.refused.problem,
        },
        "upload": sent
        and {
            "id": sent.upload_id.hex(),
            "version": sent.version.hex(),
            "day": sent.day.isoformat(),
            "report": sent.noise.hex(),
            "meaning": sent.meaning,
            "body": sent.body.hex(),
        },
        "answer": answer
        and {"accepted": answer.accepted, "status": answer.status, "problem": answer.problem},
    }


def _hex(content: bytes) -> str:
    cut = "…" if len(content) > SHOWN_BYTES else ""
    return content[:SHOWN_BYTES].hex() + cut


def _quoted(value: Value) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
