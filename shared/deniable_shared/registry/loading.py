"""The registry file: what an application collects, at which epsilon, and how often.

One TOML file ships with the application and is registered, unchanged, with the aggregator. Reading
it resolves every metric to a `Spec`, so both sides derive the same digests. The rules of
``registry = 1`` never change: a new rule is a new number.
"""

from __future__ import annotations

import binascii
import os
import tomllib
from datetime import date
from decimal import MAX_EMAX, MIN_EMIN, Context
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from deniable_shared import numbers
from deniable_shared.characters import NAME
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.fields import FileText, TableReader
from deniable_shared.frozen import frozen
from deniable_shared.mechanisms import (
    FRESH,
    MAX_EPSILON,
    MAX_EPSILON_PERMANENT,
    MECHANISMS,
    MEMOIZE,
    REPEAT,
)
from deniable_shared.mechanisms.request import AUTO
from deniable_shared.periods import EVERY
from deniable_shared.registry.discovery import MODELS, ModelFiles, parse_letters
from deniable_shared.registry.finding_codes import METRIC_CODES, REGISTRY_CODES, read_ignored
from deniable_shared.registry.parsing import (
    normalized_categories,
    parse_absent,
    parse_attributes,
    parse_renamed,
    parse_segments,
    parse_set,
    parse_values,
)
from deniable_shared.registry.relay import Relay, parse_relay, parse_requirement
from deniable_shared.registry.resolution import resolve
from deniable_shared.spec import PICKS, TYPES, TYPES_WITH_RANGE, Spec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

VERSION: Final = 1
MIN_EPSILON: Final = Fraction(1, 100)
MAX_EPSILON_PER_DAY: Final = 16
MAX_EPSILON_LIFETIME: Final = 400
"""Ceilings of the device's budget, in nats, that no registry can lift."""

REMOTE_KEY_BYTES: Final = 32
"""The length of an Ed25519 public key."""

MAX_DEVICES: Final = 10**10
DEFAULT_DEVICES: Final = 100_000
MAX_RETENTION_DAYS: Final = 36_500

_BYTE_ORDER_MARK: Final = "\ufeff"

# Decimals keep every digit; a number with too large an exponent becomes infinite, not an error.
_EXACT: Final = Context(prec=1000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


@frozen
class Budget:
    """What a device may spend over all metrics together (sequential composition).

    Attributes:
        epsilon_per_day: nats in one UTC day.
        epsilon_lifetime: nats for as long as the device's directory lives. Of memoised metrics it
            limits what is paid for permanent answers, and not what changes of a value show.
    """

    epsilon_per_day: float
    epsilon_lifetime: float


@frozen
class Metric:
    """A spec, with what the registry says about it for people.

    Attributes:
        spec: all that matters to privacy and estimation.
        description: what is collected, in a sentence.
        owners: who answers for it.
        expires: the last day on which devices report it, or None.
        expected_devices: how many devices it is planned for.
        retention_days: for how many days the server keeps what was reported; None for as long as
            it keeps that of any metric.
        minimum_devices: a string that is found is shown if at least so many devices surely have
            it; None unless strings are discovered.
        ignore: codes of findings of a review that are known and meant. They are part of no digest.
        renamed: what values of earlier versions are called now, each earlier name with the new one.
            Answers go by it, devices do not; it is part of no digest.
        relay_required: whether reports are taken through a relay alone, and dropped by devices that
            are a week late with them. It is part of no digest.
    """

    spec: Spec
    description: str
    owners: tuple[str, ...]
    expires: date | None
    expected_devices: int
    retention_days: int | None = None
    minimum_devices: int | None = None
    ignore: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    relay_required: bool = False


@frozen
class Registry:
    """A registry file, resolved.

    Attributes:
        budget: what one device may spend.
        metrics: by name, in the file's order.
        remote_key: the Ed25519 public key, 32 bytes, that remote configurations must be signed
            with; None if devices take none. It is part of no digest.
        ignore: codes of findings of a review that are known and meant, of whichever metric. They
            are part of no digest.
        relay: whom devices give their sealed uploads to; None if they send to the aggregator. It is
            part of no digest.
    """

    application: str
    budget: Budget
    metrics: Mapping[str, Metric]
    remote_key: bytes | None = None
    ignore: tuple[str, ...] = ()
    relay: Relay | None = None


def load(source: str | os.PathLike[str] | Traversable) -> Registry:
    """Reads a registry file.

    Args:
        source: its path; or a file of a package as `importlib.resources.files` gives it, which may
            be inside a zip.

    Raises:
        RegistryError: if it cannot be read or has problems; all of them are listed.
    """
    file = Path(source) if isinstance(source, str | os.PathLike) else source
    name = str(file)
    if name.startswith("<"):  # a resource that says only which object it is
        name = file.name
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RegistryError([f"{name}: cannot be read: save it as UTF-8 ({error})"]) from error
    except OSError as error:
        raise RegistryError([f"{name}: cannot be read: {error.strerror or error}"]) from error
    except Exception as error:  # resources raise whatever their package's importer does
        raise RegistryError([f"{name}: cannot be read: {error}"]) from error
    return parse(text, name=name, folder=getattr(file, "parent", None))


def parse(
    text: str | bytes, *, name: str = "metrics.toml", folder: Path | Traversable | None = None
) -> Registry:
    """Reads a registry from its text.

    Args:
        text: TOML; bytes are UTF-8.
        name: the file's name, for messages.
        folder: the folder of the model files that the registry names; None if it names none.

    Raises:
        RegistryError: if the text has problems; all of them are listed.
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
        data = tomllib.loads(text, parse_float=_EXACT.create_decimal)
    except (ValueError, RecursionError) as error:
        marked = isinstance(text, str) and text.startswith(_BYTE_ORDER_MARK)
        wrong = "save it as UTF-8 without a byte order mark (BOM)" if marked else error
        raise RegistryError([f"{name}: must be TOML: {wrong}"]) from error
    problems: list[str] = []
    top = TableReader(data, f"{name}: ", problems, FileText(text, f"{name}: "))
    if top.read("registry", "the number 1", lambda value: type(value) is int and value == VERSION):
        application = top.text("application", NAME) or ""
        budget = _budget(top.table("budget", "epsilon_per_day = 4.0 and epsilon_lifetime = 400.0"))
        remote_key = _remote_key(top) if "remote" in data else None
        has_relay = "relay" in data
        relay = parse_relay(top) if has_relay else None
        ignore = read_ignored(top, METRIC_CODES + REGISTRY_CODES)
        carried = top.read(MODELS, "a table", lambda value: isinstance(value, dict), default=None)
        files = ModelFiles(folder, carried or {})
        metrics = {
            metric_name: _metric(
                application, metric_name, table, budget, files, has_relay=has_relay
            )
            for metric_name, table in top.table("metrics").tables(NAME)
        }
        if data.get("metrics") == {}:
            top.add_problem("metrics", "at least one table [metrics.NAME]", data["metrics"])
        top.report_unknown()
    if problems:
        raise RegistryError(problems)
    nonempty = {key: value for key, value in metrics.items() if value}
    return Registry(application, budget, nonempty, remote_key, ignore, relay)


def _budget(table: TableReader) -> Budget:
    per_day = table.number("epsilon_per_day", MIN_EPSILON, MAX_EPSILON_PER_DAY)
    lifetime = table.number("epsilon_lifetime", MIN_EPSILON, MAX_EPSILON_LIFETIME)
    table.report_unknown()
    return Budget(float(per_day or 0), float(lifetime or 0))


def _remote_key(top: TableReader) -> bytes | None:
    table = top.table("remote")
    text = table.read(
        "key",
        f"the base64 of an Ed25519 public key, {REMOTE_KEY_BYTES} bytes",
        lambda value: isinstance(value, str) and len(_decoded(value)) == REMOTE_KEY_BYTES,
    )
    table.report_unknown()
    return None if text is None else _decoded(text)


def _decoded(text: str) -> bytes:
    """The bytes that base64 stands for; none if it is anything else."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return b""


def _metric(
    application: str,
    name: str,
    table: TableReader,
    budget: Budget,
    files: ModelFiles,
    *,
    has_relay: bool,
) -> Metric | None:
    kind = table.choice("type", TYPES)
    every = table.choice("every", EVERY, default=None)
    pick = table.choice("pick", PICKS, default="first") or "first"
    description = table.text("description", default="")
    owners = table.texts("owners", default=())
    ignore = read_ignored(table, METRIC_CODES)
    relay_required = parse_requirement(table, has_relay=has_relay)
    expires = table.read(
        "expires", "a date such as 2027-12-31", lambda value: type(value) is date, default=None
    )
    devices = table.integer("expected_devices", 1, MAX_DEVICES, default=DEFAULT_DEVICES)
    retention = table.integer("retention_days", 1, MAX_RETENTION_DAYS, default=None)
    epsilon = table.number("epsilon", MIN_EPSILON, MAX_EPSILON)
    repeat = table.choice("repeat", REPEAT, default=FRESH) or FRESH
    permanent = table.number("epsilon_permanent", MIN_EPSILON, MAX_EPSILON_PERMANENT, default=None)
    affordable = min(budget.epsilon_per_day, budget.epsilon_lifetime)
    if epsilon is not None and 0 < affordable < epsilon:
        table.add_problem("epsilon", f"at most {affordable:g}, the budget", float(epsilon))
    values: tuple[str, ...] = ()
    catch_all: str | None = None
    category: str | None = None  # that stands for absence
    if kind == "category":
        category = table.text("absent", default=None)
        # A device that reports once does not report absence.
        values, catch_all = parse_values(table, absent=None if every == "once" else category)
        values, (catch_all, category) = normalized_categories(values, catch_all, category)
    most = 0
    if kind == "set":
        values, catch_all, category, most = parse_set(table, every)
    renamed = parse_renamed(table, kind, values)
    parted = parse_segments(table, kind, name, values, catch_all)
    ends = table.range("range") if kind in TYPES_WITH_RANGE else None
    absent = category if category is not None else parse_absent(table, kind, ends)
    bins = 0
    if kind == "distribution":
        bins = table.integer("bins", 2, numbers.MAX_BINS, default=numbers.DEFAULT_BINS) or 0
    delta = table.number("delta", numbers.MIN_DELTA, numbers.MAX_DELTA, default=None)
    parts = parse_attributes(table.table("attributes")) if kind == "attributes" else ()
    letters, minimum_devices = parse_letters(table, files) if kind == "string" else (None, None)
    mechanism_table = table.mechanism()
    if every is None:
        is_chosen = mechanism_table is None or mechanism_table[0] == AUTO
        every = "week" if repeat == MEMOIZE and is_chosen else "day"
    if kind is not None:  # else nobody knows which fields there are
        table.report_unknown()
    if parted is not None:
        kind, values, catch_all = "category", parted.items, None
    if table.failed or kind is None or epsilon is None or devices is None or parts is None:
        return None
    try:
        mechanism = resolve(
            kind,
            size=bins or len(values),
            attributes=parts,
            epsilon=epsilon,
            repeat=repeat,
            epsilon_permanent=permanent,
            devices=devices,
            choice=mechanism_table,
            delta=delta,
            levels=None if letters is None else letters.levels,
            level_shares=() if letters is None else letters.level_shares,
            most=most,
        )
        spec = Spec(
            application,
            name,
            kind,  # type: ignore[arg-type]
            values,
            catch_all,
            mechanism,
            every,  # type: ignore[arg-type]
            parts,
            ends,
            absent,
            parted,
            letters,
            pick,  # type: ignore[arg-type]
        )
    except ParameterError as error:
        owner, _, parameter = error.name.partition(" ")
        field = f"mechanism.{parameter}" if owner in MECHANISMS else error.name
        table.add_problem(field, error.constraint, error.value)
        return None
    return Metric(
        spec,
        description or "",
        owners or (),
        expires,
        devices,
        retention,
        minimum_devices,
        ignore,
        renamed,
        relay_required,
    )
