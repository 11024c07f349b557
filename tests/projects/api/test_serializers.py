"""Errors of the API say what could be sent instead."""

from typing import Any

import pytest
from rest_framework import serializers

from projects.api.serializers import Query


class Chosen(Query):
    order = serializers.ChoiceField(choices=["number", "-number"], required=False)
    types = serializers.ListField(child=serializers.ChoiceField(choices=["", "a{b}"], allow_blank=True), required=False)


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"order": "name"}, "“name” is not a valid choice. Choose one of: number, -number."),
        ({"types": ["", "c"]}, "“c” is not a valid choice. Choose one of: a{b}."),
    ],
)
def test_an_invalid_choice_names_the_choices(sent: dict[str, Any], message: str) -> None:
    query = Chosen(data=sent)
    assert not query.is_valid()
    assert message in str(query.errors)
