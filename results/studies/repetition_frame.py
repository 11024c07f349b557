"""The frame of an evaluation of redundancy: two gold scores of each candidate, its length and its references."""

from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
import pyarrow as pa

from measures.columns import UNIT
from measures.patterns import Floats
from projects.database.frames import copy_frame
from projects.errors import Refused
from projects.models import Project
from results.studies.frame import GOLD, Frame, read_frame
from results.studies.joining import CANDIDATE
from results.studies.settings import Settings

CRITERION = "redundancy"
"""The option that names the criterion of which a high value means no repetition."""
UNREPEATED, N_WORDS, N_REFERENCES = "unrepeated", "n_words", "n_references"
LEAST_REFERENCES = 2


@dataclass(frozen=True)
class RepetitionFrame(Frame):
    """Candidates to whose question there are several references, with a gold score by two criteria."""

    other_criterion: str = ""
    n_few_references: int = 0
    n_unjudged: int = 0

    @property
    def unrepeated(self) -> Floats:
        return self.table[UNREPEATED].to_numpy(np.float64)

    @property
    def n_words(self) -> Floats:
        return self.table[N_WORDS].to_numpy(np.float64)


def read_repetition(project: Project, settings: Settings) -> RepetitionFrame:
    """Read the candidates that both criteria have judged. Raises Refused where none is left."""
    key = settings.options.get(CRITERION) or ""
    if key in ("", settings.criterion):
        raise Refused("Choose two criteria: one for quality, and another that says how little an answer repeats.")
    quality = read_frame(project, settings)
    other = read_frame(project, replace(settings, criterion=key))
    unrepeated = other.table.set_index(CANDIDATE)[GOLD]
    facts = copy_frame(_FACTS, {"ids": quality.table[CANDIDATE].tolist()}, _TYPES).set_index(CANDIDATE)
    table = quality.table.assign(
        **{
            UNREPEATED: unrepeated.reindex(quality.table[CANDIDATE]).to_numpy(np.float64),
            N_WORDS: facts[N_WORDS].reindex(quality.table[CANDIDATE]).to_numpy(),
            N_REFERENCES: facts[N_REFERENCES].reindex(quality.table[CANDIDATE]).to_numpy(),
        }
    )
    has_several = table[N_REFERENCES] >= LEAST_REFERENCES
    is_judged = table[UNREPEATED].notna()
    kept = table[has_several & is_judged]
    if kept.empty:
        raise Refused(
            f"No candidate is left: {int((~has_several).sum()):,} have fewer than two references, with which all "
            f"policies are the same, and {int((has_several & ~is_judged).sum()):,} have no gold score by “{key}”."
        )
    places = pd.Series(np.arange(len(kept)), index=kept.index)
    behind = quality.judgments[quality.judgments[UNIT].isin(kept.index)]
    own = {each.name: getattr(quality, each.name) for each in fields(Frame)}
    return RepetitionFrame(
        **{
            **own,
            "table": kept.reset_index(drop=True),
            "judgments": behind.assign(**{UNIT: places.reindex(behind[UNIT]).to_numpy(np.int64)}),
        },
        other_criterion=other.scope.criterion.name,
        n_few_references=int((~has_several).sum()),
        n_unjudged=int((has_several & ~is_judged).sum()),
    )


# Words are told apart by white space: only lengths relative to each other matter here.
_FACTS = """
SELECT c.id AS candidate,
       coalesce(array_length(regexp_split_to_array(nullif(btrim(c.text, E' \\t\\r\\n'), ''), '\\s+'), 1), 0) AS n_words,
       (SELECT count(*) FROM projects_reference r WHERE r.question_id = c.question_id) AS n_references
FROM projects_candidate c WHERE c.id = ANY(%(ids)s)"""
_TYPES = {CANDIDATE: pa.int64(), N_WORDS: pa.float64(), N_REFERENCES: pa.int64()}
