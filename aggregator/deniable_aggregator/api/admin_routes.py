"""Routes for administrators: registering a registry file, removing metrics, and managing keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from flask import request
from msgspec import UNSET, Struct

from deniable_aggregator.answers.administration import (
    DEFAULT_OVERLAP_DAYS,
    CreatedKey,
    CreateKey,
    Key,
    Keys,
    NoFields,
    OneKey,
    Registered,
    RemovedMetric,
    RotateKey,
)
from deniable_aggregator.answers.words import KEY_ACTIONS
from deniable_aggregator.api.metric_reader import unknown_metric
from deniable_aggregator.api.parameters import read_body
from deniable_aggregator.catalog import registered
from deniable_aggregator.dates import epoch_of
from deniable_aggregator.http.json import json_response
from deniable_aggregator.http.operation import ADMIN, Body, Operation, Operations
from deniable_aggregator.http.problems import ProblemError
from deniable_aggregator.security.key_administration import (
    KeyAdministrator,
    KeyStateError,
    NoSuchKeyError,
    public_key,
)
from deniable_shared import registry
from deniable_shared.errors import ParameterError, RegistryError

if TYPE_CHECKING:
    from flask import Response

    from deniable_aggregator.parts import Parts
    from deniable_aggregator.security.keys import IssuedKey
    from deniable_aggregator.security.keys import Key as RequestKey
    from deniable_aggregator.store import StoredKey

MAX_REGISTRY_BYTES: Final = 4 << 20
MAX_REQUEST_BYTES: Final = 16 << 10

Sent = TypeVar("Sent", bound=Struct)


class AdminApi:
    """Answers administrators, each for the application of their key.

    Args:
        parts: the store, and what is made over it.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def register(self, key: RequestKey) -> Response:
        """``POST /v1/metrics``."""
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
            new = self._parts.catalogue.register(parsed.metrics.values(), self._parts.today, key.id)
        except RegistryError as error:
            raise _registry_refused(error, "Nothing was registered.") from None
        return json_response(registered(parsed, new))

    def remove(self, key: RequestKey, name: str) -> Response:
        """``DELETE /v1/metrics/NAME``."""
        removal = self._parts.catalogue.remove(key.application, name, self._parts.today, key.id)
        if removal is None:
            raise unknown_metric(
                name, key.application, self._parts.catalogue.names(key.application)
            )
        versions = [digest.hex() for digest in removal.digests]
        return json_response(RemovedMetric(key.application, name, versions, removal.reports))

    def keys(self, key: RequestKey) -> Response:
        """``GET /v1/keys``."""
        keys = [self._public(each) for each in self._administrator(key).all()]
        return json_response(Keys(key.application, keys))

    def create(self, key: RequestKey) -> Response:
        """``POST /v1/keys``."""
        body = _read(CreateKey)
        try:
            issued = self._administrator(key).create(
                scope=body.scope,
                application=key.application,
                label=body.label or "",
                expires=None if body.expires is None else epoch_of(body.expires),
            )
        except ParameterError as error:
            raise _malformed(error) from None
        return self._created(issued)

    def rotate(self, key: RequestKey, key_id: str) -> Response:
        """``POST /v1/keys/ID/rotate``."""
        body = _read(RotateKey) if _has_body() else RotateKey()
        days = body.overlap_days
        try:
            rotated = self._administrator(key).rotate(
                key_id,
                overlap_days=DEFAULT_OVERLAP_DAYS if days is None else days,
                expires=None if body.expires is None else epoch_of(body.expires),
            )
        except ParameterError as error:
            raise _malformed(error) from None
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return self._created(rotated.issued, rotated.old)

    def change_key(self, key: RequestKey, key_id: str, action: str) -> Response:
        """``POST /v1/keys/ID/revoke``, ``exclude`` or ``include``."""
        keys = self._administrator(key)
        if _has_body():
            _read(NoFields)
        actions = {"revoke": keys.revoke, "exclude": keys.exclude, "include": keys.include}
        try:
            changed = actions[action](key_id)
        except (NoSuchKeyError, KeyStateError) as error:
            raise _refused(error) from None
        return json_response(OneKey(self._public(changed)))

    def _administrator(self, key: RequestKey) -> KeyAdministrator:
        return KeyAdministrator(
            self._parts.store,
            actor=key.id,
            today=self._parts.today,
            application=key.application,
        )

    def _created(self, issued: IssuedKey, old: StoredKey | None = None) -> Response:
        key = self._public(issued.key)
        answer = CreatedKey(key, issued.token, UNSET if old is None else self._public(old))
        # No cache may keep a token.
        return json_response(answer, status=201, headers={"Cache-Control": "no-store"})

    def _public(self, key: StoredKey) -> Key:
        return public_key(key, self._parts.today)


def blueprint(parts: Parts) -> Operations:
    """The routes."""
    api = AdminApi(parts)
    routes = Operations("administration", parts.verifier)
    for operation, view in (
        (_REGISTER, api.register),
        (_REMOVE, api.remove),
        (_LIST_KEYS, api.keys),
        (_CREATE_KEY, api.create),
        (_ROTATE_KEY, api.rotate),
        (_ACT_ON_KEY, api.change_key),
    ):
        routes.add(operation, view)
    return routes


_REGISTER: Final = Operation(
    "POST",
    "/v1/metrics",
    "registerMetrics",
    "Registers the metrics of a registry file.",
    Registered,
    scopes=ADMIN,
    body=Body(str, "application/toml"),
    problems=("registry_refused",),
)
_REMOVE: Final = Operation(
    "DELETE",
    "/v1/metrics/<name>",
    "removeMetric",
    "Removes a metric: all of its versions, and all that was reported of it.",
    RemovedMetric,
    scopes=ADMIN,
    problems=("unknown_metric",),
)
_LIST_KEYS: Final = Operation(
    "GET",
    "/v1/keys",
    "listKeys",
    "All keys of the application, without their tokens.",
    Keys,
    scopes=ADMIN,
)
_CREATE_KEY: Final = Operation(
    "POST",
    "/v1/keys",
    "createKey",
    "Makes a key; its token is shown only now.",
    CreatedKey,
    scopes=ADMIN,
    body=Body(CreateKey),
    status=201,
)
_ROTATE_KEY: Final = Operation(
    "POST",
    "/v1/keys/<key_id>/rotate",
    "rotateKey",
    "Makes a key that replaces another, which ends after an overlap.",
    CreatedKey,
    scopes=ADMIN,
    body=Body(RotateKey, required=False),
    status=201,
    problems=("no_such_key", "key_refused"),
)
_ACT_ON_KEY: Final = Operation(
    "POST",
    f"/v1/keys/<key_id>/<any({', '.join(KEY_ACTIONS)}):action>",
    "actOnKey",
    "Revokes a key for good, or leaves its reports out of estimates, or takes them back.",
    OneKey,
    scopes=ADMIN,
    body=Body(NoFields, required=False),
    problems=("no_such_key", "key_refused"),
)


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


def _registry_refused(error: RegistryError, detail: str) -> ProblemError:
    return ProblemError("registry_refused", detail, problems=list(error.problems))


def _malformed(error: ParameterError) -> ProblemError:
    return ProblemError("malformed_request", f"{error}.")


def _refused(error: NoSuchKeyError | KeyStateError) -> ProblemError:
    code = "no_such_key" if isinstance(error, NoSuchKeyError) else "key_refused"
    return ProblemError(code, f"{error}.")
