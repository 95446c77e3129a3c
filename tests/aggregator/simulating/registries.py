"""Registries of simulations that tests run."""

HEAD = """
registry = 1
application = "editor"

[budget]
epsilon_per_day = 16.0
epsilon_lifetime = 400.0
"""

THEME = """
[metrics.theme]
type = "category"
description = "Which colour theme is active"
values = ["light", "dark", "system"]
other = "another"
epsilon = 3.0
"""

SEPIA = THEME.replace('"system"]', '"system", "sepia"]')

STARTUP = """
[metrics.startup]
type = "number"
description = "Seconds until it is there"
range = [0, 10]
epsilon = 3.0
"""

MODE = """
[metrics.mode]
type = "category"
description = "How documents are edited, by channel"
values = ["visual", "source"]
other = "another"
epsilon = 3.0
segment = { name = "channel", values = ["stable", "beta"], other = "unknown" }
"""

SETTINGS = """
[metrics.settings]
type = "attributes"
description = "Settings of a device"
epsilon = 3.0
[metrics.settings.attributes]
toolbar = { values = ["full", "small"], complete = true }
spelling = "boolean"
"""

PRINTER = """
[metrics.printer]
type = "string"
description = "The printer of a device, memoised"
epsilon = 3.0
every = "day"
repeat = "memoize"
epsilon_permanent = 6.0
"""

PLUGINS = """
[metrics.plugins]
type = "set"
description = "Plug-ins that are installed"
values = ["git", "latex", "vim", "spelling", "tree"]
most = 3
epsilon = 3.0
"""

EXTENSIONS = """
[metrics.extensions]
type = "set"
description = "Extensions that are installed"
most = 3
epsilon = 3.0
"""

EVERYTHING = HEAD + THEME + STARTUP + MODE + SETTINGS + PRINTER + PLUGINS + EXTENSIONS
