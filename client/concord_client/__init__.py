"""A client of Concord's API: projects, imports, batches and results as pandas data frames."""

from .client import Client
from .errors import ConcordError, ConnectionFailed, JobFailed, MisleadingFigures, RetiredSet
from .project import Project
from .tables import SetTables

__all__ = [
    "Client",
    "ConcordError",
    "ConnectionFailed",
    "JobFailed",
    "MisleadingFigures",
    "Project",
    "RetiredSet",
    "SetTables",
]
__version__ = "0.1.0"
