"""Models: projects and their people, the data to be judged, rubric and texts, audit log, and bookkeeping."""

from projects.models.corpus import Candidate, Dataset, MinimalPair, Passage, Question, Reference
from projects.models.freshness import FigureChange
from projects.models.guesses import Guesses
from projects.models.log import Act, LogEntry
from projects.models.numbering import NumberCounter
from projects.models.people import Erasure, Invitation, Membership, Project, User
from projects.models.pulse import Pulse
from projects.models.rubric import (
    SCALE_FIELDS,
    Consent,
    ConsentAcceptance,
    Criterion,
    Instructions,
    InstructionsReading,
    Rubric,
)
from projects.models.tokens import ApiToken
from projects.models.webhooks import Delivery, DeliveryAttempt, Event, Webhook

__all__ = [
    "SCALE_FIELDS",
    "Act",
    "ApiToken",
    "Candidate",
    "Consent",
    "ConsentAcceptance",
    "Criterion",
    "Dataset",
    "Delivery",
    "DeliveryAttempt",
    "Erasure",
    "Event",
    "FigureChange",
    "Guesses",
    "Instructions",
    "InstructionsReading",
    "Invitation",
    "LogEntry",
    "Membership",
    "MinimalPair",
    "NumberCounter",
    "Passage",
    "Project",
    "Pulse",
    "Question",
    "Reference",
    "Rubric",
    "User",
    "Webhook",
]
