"""Files of these tests are kept in folders of their own; torch computes with one thread."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings

from measures.neural.environment import configure, get_environment
from measures.neural.folders import ModelFolder
from projects.models import Project
from results.models import JudgmentSet
from tests.measures.neural.tiny_models import TinyModels
from tests.results.training.factories import add_encoder, judge_toys


@pytest.fixture(autouse=True)
def _own_folders(settings: Settings, tmp_path: Path) -> Iterator[None]:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.MODELS_DIR = tmp_path / "models"
    before = get_environment()
    configure(replace(before, models_dir=settings.MODELS_DIR, threads=1))
    yield
    configure(before)


@pytest.fixture
def encoder(tiny_models: TinyModels) -> ModelFolder:
    return add_encoder(tiny_models)


@pytest.fixture
def frozen(project: Project) -> JudgmentSet:
    """Two datasets of twelve passages with two answers each: six passages of training, three of dev, three of test."""
    return judge_toys(project)
