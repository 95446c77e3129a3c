"""The cells of the table: which population, how many devices, which epsilon and which model."""

from __future__ import annotations

from typing import Final, NamedTuple


class Cell(NamedTuple):
    """One line of the table.

    Attributes:
        population: by its name.
        devices: how many report.
        epsilon: in nats, as a registry writes it.
        recall: what is to be reached of the 32 most common strings, or None.
        false: the largest part of what is shown that may be false.
        without: the language that the model is trained without; nothing for the shipped model.
        by_clients: whether the shipped client makes every report, one by one.
    """

    population: str
    devices: int
    epsilon: str
    recall: float | None = None
    false: float = 0.05
    without: str = ""
    by_clients: bool = False

    @property
    def name(self) -> str:
        """As it is asked for on the command line and kept in results."""
        model = f" without {self.without}" if self.without else ""
        clients = " by clients" if self.by_clients else ""
        asked = f"{self.population} {self.devices:.0e} {self.epsilon}".replace("e+0", "e")
        return f"{asked}{model}{clients}"


_LANGUAGES: Final = (
    ("english", 10**6, "4", 0.94, "en"),
    ("english", 10**6, "2", 0.88, "en"),
    ("english", 10**5, "4", 0.84, "en"),
    ("english", 10**7, "1", 0.91, "en"),
    ("chinese", 10**6, "4", 0.96, "zh"),
    ("hindi", 10**6, "4", 0.95, "hi"),
    ("arabic", 10**6, "4", 0.85, "ar"),
)

CELLS: Final = (
    *(
        Cell(population, devices, epsilon, recall, 0.03, without)
        for population, devices, epsilon, recall, language in _LANGUAGES
        for without in ("", language)
    ),
    Cell("english", 10**5, "4", 0.84, 0.03, by_clients=True),
    Cell("package_names", 10**6, "4", 0.94),
    Cell("user_agents", 10**6, "4", 0.90, 0.03),
    Cell("user_agents", 10**5, "4", 0.40, 0.03),
    Cell("browsers", 10**6, "4", 0.78, 0.03),
    Cell("raised", 10**6, "4", 0.85, 0.03),
    Cell("maven", 10**6, "4", 0.94, 0.03),
    Cell("maven", 10**5, "4", 0.42, 0.03),
    Cell("links", 10**6, "4", 0.68, 0.03),
    Cell("npm_scoped", 10**6, "4"),
    Cell("modules", 10**6, "4"),
    Cell("messages", 10**6, "4"),
    Cell("links_by_messages", 10**6, "4"),
    Cell("hexadecimal", 10**6, "4", 0.95, 0.03),
    Cell("domains", 10**6, "4", 0.75),
    Cell("domains", 10**7, "4"),
    Cell("emails", 10**6, "4"),
    Cell("emails", 10**7, "4"),
    Cell("crashes", 10**6, "4"),
    Cell("crashes", 10**7, "4"),
    Cell("half", 10**6, "4"),
    Cell("steep", 10**6, "4"),
    Cell("flat", 10**6, "4"),
    Cell("tokens", 10**6, "4"),
    Cell("capitals", 10**6, "4"),
    Cell("scripts", 10**6, "4"),
    Cell("addresses", 10**6, "4"),
    Cell("phrases", 10**6, "4"),
    Cell("emoji", 10**6, "4"),
)
"""The first ones have goals; those after them show where it ends. Modules, messages and the
last two are held out."""
