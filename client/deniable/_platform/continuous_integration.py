"""Machines of continuous integration, which are no user's device."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

ALLOWED: Final = "DENIABLE_IN_CI"
"""The environment variable by which such machines count as devices: 1, true, yes or on."""

_NAMES: Final = ("CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION")
"""What GitHub, GitLab, Travis, CircleCI and most others set; Azure; Jenkins; TeamCity."""

_OFF: Final = ("", "0", "false", "no", "off")


def refuses(environment: Mapping[str, str]) -> bool:
    """Whether the environment is one of continuous integration, and does not count as a device.

    Args:
        environment: the variables.
    """
    if environment.get(ALLOWED, "").lower() not in _OFF:
        return False
    return any(environment.get(name, "").lower() not in _OFF for name in _NAMES)
