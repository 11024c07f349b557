"""A client of Concord's API: projects, imports, batches and results as pandas data frames."""

from .client import Client
from .errors import ConcordError, JobFailed
from .project import Project

__all__ = ["Client", "ConcordError", "JobFailed", "Project"]
__version__ = "0.1.0"
