"""The fake platform for the tests of this folder."""

from tests.fakes.fixtures import connected, fake, shared

__all__ = ["connected", "fake", "shared"]
