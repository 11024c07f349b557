"""The reference site as a Django app."""

from django.apps import AppConfig


class ReferenceConfig(AppConfig):
    name = "benchmarks.reference"
    label = "reference"
