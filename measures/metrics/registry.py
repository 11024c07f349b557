"""The metrics by name; `register` adds one, also from outside the package."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from measures.metrics.metric import Metric


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A metric under its name.

    Attributes
    ----------
    name : str
        Letters, digits and underscores, such as "rouge_l".
    title : str
        The name that tables show, such as "ROUGE-L".
    family : str
        Lists group metrics by family.
    metric : type
        Its class.
    fixed : mapping
        Settings that the name implies, such as the order of "bleu_4".
    """

    name: str
    title: str
    family: str
    metric: type[Metric]
    fixed: Mapping[str, Any]

    def make(self, **settings: Any) -> Metric:
        """Return the configured metric. Raises ValueError for an unknown setting or a value that is not allowed."""
        free = {each.name for each in self.settings()}
        for name in settings:
            if name not in free:
                raise ValueError(f"{self.name} has no setting “{name}”. Settings: {', '.join(sorted(free)) or 'none'}.")
        return self.metric(**self.fixed, **settings)

    def chosen(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return those settings of a metric of this name that its user may choose, as arguments for `make`."""
        return {each.name: settings[each.name] for each in self.settings() if each.name in settings}

    def settings(self) -> "list[Field[Any]]":
        """Return the settings that its user may choose."""
        without = set() if "references" in self.metric.needs else {"against"}
        return [each for each in fields(self.metric) if each.name not in without.union(self.fixed)]


METRICS: dict[str, Registered] = {}


def register(name: str, title: str, metric: type[Metric], *, family: str = "", **fixed: Any) -> None:
    """Register a metric under a name.

    Parameters
    ----------
    name : str
        Letters, digits and underscores.
    title : str
        The name that tables show.
    metric : type
        Its class, a frozen dataclass.
    family : str
        The group of metrics in lists; by default the title.
    **fixed
        Settings that the name implies.

    Raises
    ------
    ValueError
        Another metric has this name.

    Examples
    --------
    >>> from measures.metrics.exact import ExactMatch
    >>> register("exact_characters", "Exact match of characters", ExactMatch, tokeniser="characters")
    >>> make("exact_characters").settings(), [each.name for each in METRICS.pop("exact_characters").settings()]
    ({'against': 'all', 'tokeniser': 'characters'}, ['against'])
    """
    if name in METRICS and METRICS[name].metric is not metric:
        raise ValueError(f"There is already a metric “{name}”. Choose another name.")
    METRICS[name] = Registered(name=name, title=title, family=family or title, metric=metric, fixed=fixed)


def make(name: str, **settings: Any) -> Metric:
    """Return a configured metric.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    **settings
        Settings of the metric.

    Returns
    -------
    Metric
        Ready to score.

    Raises
    ------
    ValueError
        There is no such metric or setting, or a value is not allowed.

    Examples
    --------
    >>> make("exact_match", tokeniser="alnum").settings()
    {'against': 'all', 'tokeniser': 'alnum'}
    """
    if name not in METRICS:
        raise ValueError(f"There is no metric “{name}”. Metrics: {', '.join(sorted(METRICS))}.")
    return METRICS[name].make(**settings)
