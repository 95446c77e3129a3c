"""The operations of administrators on metrics, keys and remote configurations.

Owners sign configurations elsewhere: the server has neither the private nor the public key, as
devices verify the signature. So whoever controls the server can withhold a configuration, but
cannot make one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

from flask import Response, request
from msgspec import UNSET, Struct

from deniable_aggregator.answering.acknowledging import acknowledge, withdraw
from deniable_aggregator.answering.reader import MetricReader, unknown_metric
from deniable_aggregator.answering.requests import ProblemError, read_body
from deniable_aggregator.answering.responses import MEDIA_TYPE, json_response
from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    Acknowledge,
    Acknowledged,
    CreatedKey,
    CreateKey,
    Keys,
    NoFields,
    OneKey,
    Published,
    Registered,
    RemovedMetric,
    RotateKey,
    SignedDocument,
    Simulation,
)
from deniable_aggregator.answers.dates import day_of, epoch_of
from deniable_aggregator.answers.words import KEY_ACTIONS
from deniable_aggregator.doors.http.kept import KEPT, MAX_REQUEST_BYTES, malformed
from deniable_aggregator.doors.http.operation import ADMIN, READ, Body, Operations, operation
from deniable_aggregator.keeping.audit import AuditAction, AuditRecord
from deniable_aggregator.keeping.catalog import registered
from deniable_aggregator.keeping.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
    public_key,
)
from deniable_shared import registry
from deniable_shared.errors import ParameterError, RegistryError
from deniable_shared.remote import MAX_DOCUMENT_BYTES, PATH, RemoteConfiguration, parse, unseal

if TYPE_CHECKING:
    from deniable_aggregator.keeping.keys import IssuedKey, Key
    from deniable_aggregator.keeping.parts import Parts
    from deniable_aggregator.keeping.store import StoredKey

MAX_REGISTRY_BYTES: Final = 4 << 20

Sent = TypeVar("Sent", bound=Struct)

_OF_KEY: Final[dict[str, Any]] = {"scopes": ADMIN, "problems": ("no_such_key", "key_refused")}


def blueprint(parts: Parts) -> Operations:
    """The routes."""
    routes = Operations("administration", parts.verifier)
    for described in (
        register_metrics,
        remove_metric,
        acknowledge_key,
        withdraw_key,
        list_keys,
        create_key,
        rotate_key,
        act_on_key,
        *KEPT,
        remote_configuration,
        publish_remote_configuration,
        begin_simulation,
    ):
        routes.add(described, parts)
    return routes


@operation(
    "POST",
    "/v1/metrics",
    Registered,
    scopes=ADMIN,
    body=Body(str, "application/toml"),
    problems=("registry_refused",),
)
def register_metrics(parts: Parts, key: Key) -> Response:
    """Registers the metrics of a registry file."""
    request.max_content_length = MAX_REGISTRY_BYTES
    try:
        parsed = registry.parse(request.get_data(cache=False).decode())
    except UnicodeDecodeError:
        raise ProblemError("registry_refused", "A registry is TOML text in UTF-8.") from None
    except RegistryError as error:
        raise _registry_refused(
            error, "Correct what problems lists; deniable check FILE says the same."
        ) from None
    if parsed.application != key.application:
        raise ProblemError(
            "wrong_scope",
            f"This key is for {key.application}, the registry for {parsed.application}.",
        )
    try:
        new = parts.catalogue.register(parsed.metrics.values(), parts.today, key.id)
    except RegistryError as error:
        raise _registry_refused(error, "Nothing was registered.") from None
    return json_response(registered(parsed, new, parts.settings.accept_days))


def _registry_refused(error: RegistryError, detail: str) -> ProblemError:
    return ProblemError("registry_refused", detail, problems=list(error.problems))


@operation(
    "DELETE", "/v1/metrics/<name>", RemovedMetric, scopes=ADMIN, problems=("unknown_metric",)
)
def remove_metric(parts: Parts, key: Key, name: str) -> Response:
    """Removes a metric: all of its versions, and all that was reported of it."""
    removal = parts.catalogue.remove(key.application, name, parts.today, key.id)
    if removal is None:
        raise unknown_metric(name, key.application, parts.catalogue.names(key.application))
    versions = [digest.hex() for digest in removal.digests]
    return json_response(RemovedMetric(key.application, name, versions, removal.reports))


@operation(
    "PUT",
    "/v1/metrics/<name>/acknowledged/<key_name>",
    Acknowledged,
    scopes=ADMIN,
    body=Body(Acknowledge),
    problems=("unknown_metric", "no_reports"),
)
def acknowledge_key(parts: Parts, key: Key, name: str, key_name: str) -> Response:
    """Acknowledges how a key differs from the others; a change of it is still warned of."""
    sent = _read(Acknowledge)
    reader = MetricReader(parts.store, parts.catalogue)
    metric = reader.asked_metric(key.application, name)
    try:
        found = acknowledge(
            parts.store, reader, metric, key_name, sent, today=parts.today, actor=key.id
        )
    except ParameterError as error:
        raise malformed(error) from None
    return json_response(found)


@operation(
    "DELETE",
    "/v1/metrics/<name>/acknowledged/<key_name>",
    scopes=ADMIN,
    status=204,
    problems=("unknown_metric",),
)
def withdraw_key(parts: Parts, key: Key, name: str, key_name: str) -> Response:
    """Takes back what was acknowledged of a key."""
    reader = MetricReader(parts.store, parts.catalogue)
    metric = reader.asked_metric(key.application, name)
    withdraw(parts.store, reader, metric, key_name, today=parts.today, actor=key.id)
    return Response(status=204)


@operation("GET", "/v1/keys", Keys, scopes=ADMIN)
def list_keys(parts: Parts, key: Key) -> Response:
    """All keys of the application, without their tokens."""
    keys = [public_key(each, parts.today) for each in _administrator(parts, key).all()]
    return json_response(Keys(key.application, keys))


@operation("POST", "/v1/keys", CreatedKey, scopes=ADMIN, body=Body(CreateKey), status=201)
def create_key(parts: Parts, key: Key) -> Response:
    """Makes a key; its token is shown only now."""
    sent = _read(CreateKey)
    try:
        issued = _administrator(parts, key).create(
            scope=sent.scope,
            application=key.application,
            label=sent.label or "",
            expires=None if sent.expires is None else epoch_of(sent.expires),
        )
    except ParameterError as error:
        raise malformed(error) from None
    return _created(parts, issued)


@operation(
    "POST",
    "/v1/keys/<key_id>/rotate",
    CreatedKey,
    body=Body(RotateKey, required=False),
    status=201,
    **_OF_KEY,
)
def rotate_key(parts: Parts, key: Key, key_id: str) -> Response:
    """Makes a key that replaces another, which ends after an overlap."""
    sent = _read(RotateKey) if _has_body() else RotateKey()
    days = sent.overlap_days
    try:
        rotated = _administrator(parts, key).rotate(
            key_id,
            overlap_days=DEFAULT_OVERLAP_DAYS if days is None else days,
            expires=None if sent.expires is None else epoch_of(sent.expires),
        )
    except ParameterError as error:
        raise malformed(error) from None
    except (NoSuchKeyError, KeyStateError) as error:
        raise _refused(error) from None
    return _created(parts, rotated.issued, rotated.old)


@operation(
    "POST",
    f"/v1/keys/<key_id>/<any({', '.join(KEY_ACTIONS)}):action>",
    OneKey,
    body=Body(NoFields, required=False),
    **_OF_KEY,
)
def act_on_key(parts: Parts, key: Key, key_id: str, action: str) -> Response:
    """Revokes a key for good, or leaves its reports out of estimates, or takes them back."""
    if _has_body():
        _read(NoFields)
    act = getattr(_administrator(parts, key), action)
    try:
        changed = act(key_id)
    except (NoSuchKeyError, KeyStateError) as error:
        raise _refused(error) from None
    return json_response(OneKey(public_key(changed, parts.today)))


def _administrator(parts: Parts, key: Key) -> KeyAdministrator:
    return KeyAdministrator(
        parts.store, actor=key.id, today=parts.today, application=key.application
    )


def _created(parts: Parts, issued: IssuedKey, old: StoredKey | None = None) -> Response:
    key = public_key(issued.key, parts.today)
    replaced = UNSET if old is None else public_key(old, parts.today)
    # No cache may keep a token.
    headers = {"Cache-Control": "no-store"}
    return json_response(CreatedKey(key, issued.token, replaced), status=201, headers=headers)


def _has_body() -> bool:
    return bool(request.content_length or request.headers.get("Transfer-Encoding"))


def _read(kind: type[Sent]) -> Sent:
    """The body of a request, which is a JSON object.

    Raises:
        ProblemError: ``malformed_request`` or ``upload_too_large``.
    """
    names = ", ".join(kind.__struct_fields__) or "none"
    wanted = f"Send a JSON object with no other fields than {names}."
    return read_body(kind, wanted, MAX_REQUEST_BYTES, code="malformed_request")


def _refused(error: NoSuchKeyError | KeyStateError) -> ProblemError:
    code = "no_such_key" if isinstance(error, NoSuchKeyError) else "key_refused"
    return ProblemError(code, f"{error}.")


@operation("GET", PATH, SignedDocument, scopes=("write", "relay", *READ), problems=("not_found",))
def remote_configuration(parts: Parts, key: Key) -> Response:
    """The signed remote configuration of the application."""
    document = parts.store.remote.find(key.application)
    if document is None:
        raise ProblemError(
            "not_found",
            "No remote configuration is published; deniable remote publish does that.",
        )
    return Response(document, content_type=MEDIA_TYPE)


@operation(
    "PUT",
    PATH,
    Published,
    scopes=ADMIN,
    body=Body(SignedDocument),
    problems=("remote_refused",),
)
def publish_remote_configuration(parts: Parts, key: Key) -> Response:
    """Publishes a signed remote configuration."""
    request.max_content_length = MAX_DOCUMENT_BYTES
    document = request.get_data(cache=False)
    configuration = _configuration(document)
    if configuration.application != key.application:
        raise ProblemError(
            "wrong_scope",
            f"This key is for {key.application}, the document for {configuration.application}.",
        )

    def check(published: str) -> None:
        serial = _configuration(published.encode()).serial
        if configuration.serial <= serial:
            raise ProblemError(
                "remote_refused",
                f"Sign it with a serial above {serial}: devices never go back.",
            )

    details = {
        "application": key.application,
        "serial": configuration.serial,
        "sha256": hashlib.sha256(document).hexdigest(),
    }
    record = AuditRecord(parts.today, key.id, AuditAction.REMOTE_PUBLISH, details)
    parts.store.remote.replace(key.application, document.decode(), check, record)
    return json_response(Published(configuration.application, configuration.serial))


def _configuration(document: bytes) -> RemoteConfiguration:
    """Parses a signed document, without verifying its signature: devices do that."""
    try:
        payload, _ = unseal(document)
        return parse(payload)
    except ParameterError as error:
        raise ProblemError(
            "remote_refused", f"{error}. deniable remote sign makes a document."
        ) from None


@operation(
    "POST", "/v1/simulation", Simulation, scopes=("batch",), problems=("not_in_development",)
)
def begin_simulation(parts: Parts, key: Key) -> Response:
    """Says that reports of simulated devices come; every answer says so from now on."""
    if not parts.development:
        raise ProblemError(
            "not_in_development",
            "Simulated reports are never mixed with those of devices. Start a server with "
            "deniable serve --development FILE, or leave --server out.",
        )
    details = {"application": key.application}
    record = AuditRecord(parts.today, key.id, AuditAction.STORE_SIMULATE, details)
    parts.store.audit.record_if_changed(record)
    parts.catalogue.reload()
    rows, _ = parts.store.inbox.size()
    return json_response(
        Simulation(
            key.application,
            day_of(parts.today),
            parts.settings.accept_days,
            counted=not rows,
        )
    )
