"""Remote configurations, signed by the owner of the key that a registry pins."""

from __future__ import annotations

import json
from base64 import b64encode

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from deniable_shared.remote import CONTEXT, seal
from tests.client.conftest import REGISTRY

OWNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = b64encode(OWNER.public_key().public_bytes_raw()).decode()
TEXT = f'{REGISTRY}\n[remote]\nkey = "{PUBLIC}"\n'


def signed(serial=1, *, key=OWNER, application="flightdeck", context=CONTEXT, **fields):
    payload = {"remote": 1, "application": application, "serial": serial, **fields}
    return sealed(json.dumps(payload).encode(), key=key, context=context)


def sealed(payload, *, key=OWNER, context=CONTEXT):
    return seal(payload, key.sign(context + payload))
