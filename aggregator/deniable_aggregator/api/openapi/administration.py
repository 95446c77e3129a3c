"""What is kept beside reports, and by whom: metrics, lists, notes, configurations and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deniable_aggregator.answers.administration import (
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
)
from deniable_aggregator.answers.annotations import Annotate, Annotation, Annotations
from deniable_aggregator.answers.registry_history import RegistryHistory
from deniable_aggregator.answers.saved_lists import (
    SavedList,
    SavedListHead,
    SavedLists,
    SaveList,
)
from deniable_aggregator.answers.service import Status
from deniable_aggregator.answers.words import SCOPES, KeyAction
from deniable_aggregator.api.openapi.operation import ADMIN, READ, Body, Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

ADMINISTRATION: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/metrics"): Operation(
        "registerMetrics",
        "Registers the metrics of a registry file.",
        Registered,
        scopes=ADMIN,
        body=Body(str, "application/toml"),
        problems=("registry_refused",),
    ),
    ("DELETE", "/v1/metrics/{name}"): Operation(
        "removeMetric",
        "Removes a metric: all of its versions, and all that was reported of it.",
        RemovedMetric,
        scopes=ADMIN,
        path={"name": str},
        problems=("unknown_metric",),
    ),
    ("GET", "/v1/lists"): Operation(
        "savedLists",
        "The lists of values that analysts keep.",
        SavedLists,
        scopes=READ,
    ),
    ("GET", "/v1/lists/{name}"): Operation(
        "savedList",
        "A list of values.",
        SavedList,
        scopes=READ,
        path={"name": str},
        problems=("not_found",),
    ),
    ("PUT", "/v1/lists/{name}"): Operation(
        "saveList",
        "Saves a list of values, in place of one of the same name.",
        SavedListHead,
        scopes=READ,
        path={"name": str},
        body=Body(SaveList),
    ),
    ("DELETE", "/v1/lists/{name}"): Operation(
        "deleteList",
        "Deletes a list of values.",
        scopes=READ,
        path={"name": str},
        status=204,
        problems=("not_found",),
    ),
    ("GET", "/v1/registry-history"): Operation(
        "registryHistory",
        "Every version of a metric that was ever registered, in a chain of hashes.",
        RegistryHistory,
        scopes=READ,
    ),
    ("GET", "/v1/annotations"): Operation(
        "listAnnotations",
        "What happened on which day, such as a release, the newest first.",
        Annotations,
        scopes=READ,
    ),
    ("PUT", "/v1/annotations/{day}"): Operation(
        "annotate",
        "Says what happened on a day, in place of what was said of it.",
        Annotation,
        scopes=ADMIN,
        path={"day": str},
        body=Body(Annotate),
        problems=("malformed_request",),
    ),
    ("DELETE", "/v1/annotations/{day}"): Operation(
        "removeAnnotation",
        "Says nothing of a day any more.",
        scopes=ADMIN,
        path={"day": str},
        status=204,
        problems=("malformed_request", "not_found"),
    ),
    ("GET", "/v1/status"): Operation(
        "status",
        "How many uploads came, and how many reports wait to be counted.",
        Status,
        scopes=READ,
    ),
    ("GET", "/v1/remote"): Operation(
        "remoteConfiguration",
        "The signed remote configuration of the application.",
        SignedDocument,
        scopes=SCOPES,
        problems=("not_found",),
    ),
    ("PUT", "/v1/remote"): Operation(
        "publishRemoteConfiguration",
        "Publishes a signed remote configuration.",
        Published,
        scopes=ADMIN,
        body=Body(SignedDocument),
        problems=("remote_refused",),
    ),
    ("GET", "/v1/keys"): Operation(
        "listKeys",
        "All keys of the application, without their tokens.",
        Keys,
        scopes=ADMIN,
    ),
    ("POST", "/v1/keys"): Operation(
        "createKey",
        "Makes a key; its token is shown only now.",
        CreatedKey,
        scopes=ADMIN,
        body=Body(CreateKey),
        status=201,
    ),
    ("POST", "/v1/keys/{key_id}/rotate"): Operation(
        "rotateKey",
        "Makes a key that replaces another, which ends after an overlap.",
        CreatedKey,
        scopes=ADMIN,
        path={"key_id": str},
        body=Body(RotateKey, required=False),
        status=201,
        problems=("no_such_key", "key_refused"),
    ),
    ("POST", "/v1/keys/{key_id}/{action}"): Operation(
        "actOnKey",
        "Revokes a key for good, or leaves its reports out of estimates, or takes them back.",
        OneKey,
        scopes=ADMIN,
        path={"key_id": str, "action": KeyAction},
        body=Body(NoFields, required=False),
        problems=("no_such_key", "key_refused"),
    ),
}
