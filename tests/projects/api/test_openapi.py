"""The description of the API says what each object is, and nothing of the code that it is made from."""

from collections import Counter

from projects.api.openapi import describe


def test_objects_have_no_description_of_the_code() -> None:
    schemas = describe()["components"]["schemas"]
    described = Counter(each["description"] for each in schemas.values() if each.get("description"))
    assert described == {"Problem details of a rejected request (RFC 9457).": 1}
