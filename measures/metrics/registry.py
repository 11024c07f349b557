"""The metrics by name; one from outside the package joins them by `register`."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from measures.metrics.metric import Metric


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A name under which a metric can be asked for.

    Attributes
    ----------
    name : str
        Letters, digits and underscores, such as "rouge_l".
    title : str
        As tables print it, such as "ROUGE-L".
    family : str
        Metrics of one family stand together in a list.
    metric : type
        Its class.
    fixed : mapping
        Settings that belong to the name, such as the longest n-gram of "bleu_4".
    """

    name: str
    title: str
    family: str
    metric: type[Metric]
    fixed: Mapping[str, Any]

    def make(self, **settings: Any) -> Metric:
        """Set the metric up. Raises ValueError for a setting that it does not have or a value that is not allowed."""
        free = {each.name for each in self.settings()}
        for name in settings:
            if name not in free:
                raise ValueError(f"{self.name} has no setting “{name}”; it has: {', '.join(sorted(free)) or 'none'}.")
        return self.metric(**self.fixed, **settings)

    def chosen(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Of the settings of a metric that was made under this name those that its user chose: `make` takes them."""
        return {each.name: settings[each.name] for each in self.settings() if each.name in settings}

    def settings(self) -> "list[Field[Any]]":
        """The settings that its user may choose."""
        without = set() if "references" in self.metric.needs else {"against"}
        return [each for each in fields(self.metric) if each.name not in without.union(self.fixed)]


METRICS: dict[str, Registered] = {}


def register(name: str, title: str, metric: type[Metric], *, family: str = "", **fixed: Any) -> None:
    """Make a metric known under a name.

    Parameters
    ----------
    name : str
        Letters, digits and underscores.
    title : str
        As tables print it.
    metric : type
        Its class, a frozen dataclass.
    family : str
        The list under which it stands; its title where nothing is said.
    **fixed
        Settings that belong to the name.

    Raises
    ------
    ValueError
        Another metric has the name already.

    Examples
    --------
    >>> from measures.metrics.exact import ExactMatch
    >>> register("exact_characters", "Exact match of characters", ExactMatch, tokeniser="characters")
    >>> make("exact_characters").settings(), [each.name for each in METRICS.pop("exact_characters").settings()]
    ({'against': 'all', 'tokeniser': 'characters'}, ['against'])
    """
    if name in METRICS and METRICS[name].metric is not metric:
        raise ValueError(f"There is a metric “{name}” already.")
    METRICS[name] = Registered(name=name, title=title, family=family or title, metric=metric, fixed=fixed)


def make(name: str, **settings: Any) -> Metric:
    """Set a metric up.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    **settings
        Those of the metric.

    Returns
    -------
    Metric
        Ready to score.

    Raises
    ------
    ValueError
        The name, a setting or a value is not known.

    Examples
    --------
    >>> make("exact_match", tokeniser="alnum").settings()
    {'against': 'all', 'tokeniser': 'alnum'}
    """
    if name not in METRICS:
        raise ValueError(f"There is no metric “{name}”; there are: {', '.join(sorted(METRICS))}.")
    return METRICS[name].make(**settings)
