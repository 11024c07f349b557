"""What the API of batches sends and takes."""

from typing import Any

from rest_framework import serializers

from annotate.batches import lifecycle
from annotate.batches.terms import RANGES
from annotate.models import Batch
from projects.api.serializers import (
    INT32,
    PageQuery,
    Query,
    StrictBooleanField,
    StrictFloatField,
    StrictSerializer,
    TextField,
)
from projects.models import Question

COLLECTED = [(kind.value, kind.label) for kind in (Batch.Kind.FULL, Batch.Kind.TRIAL)]
MOST_HITS_NAMED = 10_000
# Opening and reopening take a reason, the other changes of state none.
WITH_REASON = {"open": lifecycle.open_batch, "reopen": lifecycle.reopen}
ACTS = {
    "pause": lifecycle.pause,
    "close": lifecycle.close,
    "archive": lifecycle.archive,
    "use latest texts": lifecycle.adopt_newest_texts,
}


def bounds(name: str) -> dict[str, Any]:
    """Return the minimum and maximum of a term, as creating a batch checks them."""
    low, high = RANGES[name]
    return {"min_value": low, "max_value": high}


class ProgressSerializer(StrictSerializer):
    n_hits = serializers.IntegerField()
    n_complete = serializers.IntegerField(help_text="HITs with no unfilled assignment.")
    n_wanted = serializers.IntegerField(help_text="Assignments, one for each judgment required of a HIT's candidates.")
    n_open = serializers.IntegerField()
    n_held = serializers.IntegerField(help_text="Assignments in progress.")
    n_done = serializers.IntegerField()


class BatchSerializer(StrictSerializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=Batch.Kind.choices)
    state = serializers.ChoiceField(choices=Batch.State.choices)
    judgments = serializers.IntegerField(help_text="Required per candidate, each by a different annotator.")
    hit_size = serializers.IntegerField()
    time_limit_minutes = serializers.IntegerField()
    order = serializers.ChoiceField(choices=Batch.Order.choices)
    priority = serializers.IntegerField()
    seed = serializers.IntegerField()
    max_hits_per_annotator = serializers.IntegerField(allow_null=True)
    max_hits_per_day = serializers.IntegerField(allow_null=True)
    max_share = serializers.FloatField(allow_null=True, help_text="From 0 to 1, of the batch's HITs.")
    is_pay_prorated = serializers.BooleanField(help_text="Whether short HITs pay their share.")
    n_candidates = serializers.IntegerField(source="n_items")
    rubric_version = serializers.IntegerField(source="rubric.version")
    created_at = serializers.DateTimeField()
    opened_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    progress = ProgressSerializer()


class BatchQuery(PageQuery):
    state = serializers.ChoiceField(required=False, choices=Batch.State.choices)
    kind = serializers.ChoiceField(required=False, choices=Batch.Kind.choices)
    order = serializers.ChoiceField(choices=["number", "-number", "name", "-name"], default="-number")


class QuestionsOfTypeSerializer(StrictSerializer):
    type = serializers.ChoiceField(choices=Question.Type.choices, allow_blank=True)
    n = serializers.IntegerField(min_value=1, max_value=10_000_000)


class NewBatchSerializer(StrictSerializer):
    name = TextField(required=False, max_length=120, help_text="If omitted, the batch is named after its number.")
    kind = serializers.ChoiceField(required=False, choices=COLLECTED, help_text="If omitted, a full collection.")
    datasets = serializers.ListField(required=False, child=TextField())
    splits = serializers.ListField(required=False, child=TextField(allow_blank=True))
    sources = serializers.ListField(required=False, child=TextField(allow_blank=True))
    types = serializers.ListField(
        required=False,
        child=serializers.ChoiceField(choices=Question.Type.choices, allow_blank=True),
        help_text="Question types; empty for questions without one.",
    )
    sample = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=10_000_000,
        help_text="Sample whole passages, up to about this many candidates.",
    )
    questions = QuestionsOfTypeSerializer(
        many=True,
        required=False,
        help_text="Questions to draw of each type; other types are left out. Numbers of the same type add up.",
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=INT32)
    with_pairs = StrictBooleanField(required=False, help_text="Include candidates of minimal pairs.")
    only_pairs = StrictBooleanField(required=False, help_text="Use only candidates of minimal pairs.")
    judgments = serializers.IntegerField(
        required=False, **bounds("judgments"), help_text="Per candidate; or name the annotators."
    )
    annotators = serializers.ListField(
        required=False, child=TextField(), help_text="Pseudonyms; each of them rates everything."
    )
    hit_size = serializers.IntegerField(required=False, **bounds("hit_size"))
    cents_per_hit = serializers.IntegerField(required=False, **bounds("cents_per_hit"))
    cents_per_item = serializers.IntegerField(required=False, **bounds("cents_per_item"))
    fee_share = StrictFloatField(required=False, **bounds("fee_share"), help_text="From 0 to 1.")
    is_pay_prorated = StrictBooleanField(
        required=False,
        help_text=(
            "Whether a HIT with fewer items than the HIT size pays its share of the pay per HIT. By default only in "
            "batches with personal HITs."
        ),
    )
    time_limit_minutes = serializers.IntegerField(required=False, **bounds("time_limit_minutes"))
    order = serializers.ChoiceField(required=False, choices=Batch.Order.choices)
    priority = serializers.IntegerField(required=False, **bounds("priority"))
    presentation = serializers.ChoiceField(required=False, choices=Batch.Presentation.choices)
    must_read_to_end = StrictBooleanField(
        required=False, help_text="Whether answers longer than the screen must be read to the end. True by default."
    )
    max_hits_per_annotator = serializers.IntegerField(required=False, **bounds("max_hits_per_annotator"))
    max_hits_per_day = serializers.IntegerField(required=False, **bounds("max_hits_per_day"))
    max_share = StrictFloatField(required=False, **bounds("max_share"), help_text="From 0 to 1, of the batch's HITs.")
    requires_qualification = StrictBooleanField(required=False)
    use_of_trial = serializers.ChoiceField(
        required=False, choices=Batch.UseOfTrial.choices, help_text="How judgments of the latest trial are used."
    )


class LimitsSerializer(StrictSerializer):
    max_hits_per_annotator = serializers.IntegerField(
        required=False, allow_null=True, **bounds("max_hits_per_annotator"), help_text="Null for no limit."
    )
    max_hits_per_day = serializers.IntegerField(
        required=False, allow_null=True, **bounds("max_hits_per_day"), help_text="Per annotator; null for no limit."
    )
    max_share = StrictFloatField(
        required=False, allow_null=True, **bounds("max_share"), help_text="From 0 to 1; null for no limit."
    )
    is_pay_prorated = StrictBooleanField(
        required=False, help_text="Whether short HITs pay their share. Only a draft can change it."
    )


class WantedQuery(Query):
    judgments = serializers.IntegerField(
        required=False, **bounds("judgments"), help_text="Per candidate. By default as many as now."
    )
    hits = TextField(required=False, max_length=5_000, help_text="Only these HITs, such as 1-5,9.")


class WantedSerializer(StrictSerializer):
    judgments = serializers.IntegerField(**bounds("judgments"), help_text="Per candidate.")
    hits = serializers.ListField(
        required=False,
        child=serializers.IntegerField(min_value=1, max_value=INT32),
        min_length=1,
        max_length=MOST_HITS_NAMED,
        help_text="Numbers of the HITs; the whole batch if omitted.",
    )
    why = TextField(
        required=False, max_length=500, help_text="Recorded in the audit log. Required to reopen the batch."
    )
    reopens = StrictBooleanField(required=False, help_text="Reopen a closed batch.")
    n_added = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=INT32,
        help_text="Assignments that you expect to be added. If it is another number, nothing is done.",
    )


class ChangeSerializer(StrictSerializer):
    n_added = serializers.IntegerField(help_text="Assignments added.")
    n_removed = serializers.IntegerField(help_text="Assignments removed. Those that annotators hold stay.")


class PlannedChangeSerializer(ChangeSerializer):
    n_hits = serializers.IntegerField()
    n_kept = serializers.IntegerField(help_text="Assignments beyond the number that stay, because someone holds them.")
    cents = serializers.IntegerField(source="cost.cents", help_text="Expected cost of those added, with fees.")
    cents_saved = serializers.IntegerField(source="saved.cents")


class MoveSerializer(StrictSerializer):
    act = serializers.ChoiceField(choices=[*WITH_REASON, *ACTS])
    why = TextField(
        required=False,
        max_length=500,
        help_text="Recorded in the audit log. Required to reopen, or to open before the trial is closed.",
    )
