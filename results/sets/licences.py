"""Licences that a set may have: their identifiers in SPDX and on the Hugging Face Hub, and their texts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Licence:
    """A licence of data."""

    name: str
    hub: str
    """What the Hub calls it."""
    url: str


_CREATIVE = "https://creativecommons.org/licenses/"
_OPEN_DATA = "https://opendatacommons.org/licenses/"

LICENCES = {
    "CC-BY-4.0": Licence("Creative Commons Attribution 4.0", "cc-by-4.0", f"{_CREATIVE}by/4.0/"),
    "CC-BY-SA-4.0": Licence("Creative Commons Attribution, share alike 4.0", "cc-by-sa-4.0", f"{_CREATIVE}by-sa/4.0/"),
    "CC-BY-NC-4.0": Licence(
        "Creative Commons Attribution, non-commercial 4.0", "cc-by-nc-4.0", f"{_CREATIVE}by-nc/4.0/"
    ),
    "CC-BY-NC-SA-4.0": Licence(
        "Creative Commons Attribution, non-commercial, share alike 4.0", "cc-by-nc-sa-4.0", f"{_CREATIVE}by-nc-sa/4.0/"
    ),
    "CC-BY-ND-4.0": Licence(
        "Creative Commons Attribution, no derivatives 4.0", "cc-by-nd-4.0", f"{_CREATIVE}by-nd/4.0/"
    ),
    "CC-BY-NC-ND-4.0": Licence(
        "Creative Commons Attribution, non-commercial, no derivatives 4.0",
        "cc-by-nc-nd-4.0",
        f"{_CREATIVE}by-nc-nd/4.0/",
    ),
    "CC0-1.0": Licence(
        "Creative Commons Zero (public domain)", "cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"
    ),
    "ODC-By-1.0": Licence("Open Data Commons Attribution 1.0", "odc-by", f"{_OPEN_DATA}by/1-0/"),
    "ODbL-1.0": Licence("Open Data Commons Open Database 1.0", "odbl", f"{_OPEN_DATA}odbl/1-0/"),
    "PDDL-1.0": Licence("Open Data Commons Public Domain 1.0", "pddl", f"{_OPEN_DATA}pddl/1-0/"),
    "Apache-2.0": Licence("Apache 2.0", "apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
    "MIT": Licence("MIT", "mit", "https://opensource.org/license/mit"),
}
"""By their identifiers in SPDX, which CITATION.cff takes."""

CHOICES = [(key, f"{licence.name} ({key})") for key, licence in LICENCES.items()]
