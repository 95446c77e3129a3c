"""The registry file that ``deniable init`` writes: what people begin with, and why."""

from __future__ import annotations

from typing import Final

_TEXT: Final = """\
# What {application} asks its users' devices. This file ships with the application, and the server
# gets the same file. After every change: deniable check FILE
registry = 1                      # the version of this file's rules
{application_line}# keys and devices are bound to it: choose once, never rename

# What one device may give away, all metrics together. The device keeps to it: whatever would exceed
# it is not recorded. Its unit is epsilon: after a report of epsilon 1, somebody who was 50% sure is
# at most 73.11% sure.
[budget]
epsilon_per_day = 4.0             # at least the sum of the epsilons that fall on one day
epsilon_lifetime = 80.0           # once it is spent, the device is silent for good

# Each [metrics.NAME] is one question. These three are examples: rename, change or delete them.

[metrics.theme]
type = "category"                 # one of a known list
description = "Which colour theme is active at start-up"    # users may read this
values = ["light", "dark", "system"]
complete = true                   # no device holds another value; if some do: other = "another"
ignore = ["silence-tells"]        # accepts this finding of "deniable check"
epsilon = 1.0                     # smaller hides more; halving it needs 4 times as many devices
every = "week"                    # at most one report per device per week
# repeat = "memoize"              # for what rarely changes: all reports of a value together tell no
# epsilon_permanent = 2.0         #   more than this; without it, each report tells one epsilon more

[metrics.spell_check]
type = "boolean"                  # True or False
description = "Whether spelling is checked while typing"
epsilon = 1.0
every = "month"

[metrics.startup_seconds]
type = "number"                   # you learn its mean; for quantiles: type = "distribution"
description = "How long the last start took"
range = [0, 30]                   # numbers outside count as the nearer end; a wider range makes the
epsilon = 1.0                     #   mean less exact
every = "month"
pick = "first"                    # later starts of a month are left out; "random": each counts
                                  #   alike, and one of them is reported when the month is over

# Texts of which you have no list. To find them takes many more devices.
# [metrics.search_term]
# type = "string"
# description = "The latest search term"
# discover = true                 # finds popular texts; without it, you ask for texts that you know
# epsilon = 2.0
# every = "month"

# Several items of a device at one moment, such as its plug-ins: type = "set", with values. Several
# facts for the price of one report: type = "attributes". Uploads that reach the server without
# addresses, many together: a table [relay]. The documentation has these and every other field:
# docs/reference/metrics-toml.md
"""
_COMMENT_COLUMN: Final = 34


def registry_text(application: str) -> str:
    """A registry with comments, for an application to begin with.

    Args:
        application: its name; valid.
    """
    line = f'application = "{application}"'
    return _TEXT.format(application=application, application_line=f"{line} ".ljust(_COMMENT_COLUMN))
