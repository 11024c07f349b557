"""Invitation links and API tokens that were tried and never were: how many each address has tried."""

from datetime import timedelta

from django.db import connection, models
from django.db.models.functions import Now


class Guesses(models.Model):
    """The guesses of one address in the current quarter of an hour; an address that is not known is empty.

    They stand apart from failures to sign in: a truncated link, sent to many, must not lock sign-in for all of them.
    """

    MOST = 20
    WITHIN = timedelta(minutes=15)

    address = models.CharField(max_length=64, primary_key=True)
    n = models.PositiveIntegerField(default=1)
    since = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "guesses"

    def __str__(self) -> str:
        return f"{self.n} from {self.address}"

    @classmethod
    def count(cls, address: str) -> None:
        """Add one, in one statement: guesses that come at once are all counted."""
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO projects_guesses AS held (address, n) VALUES (%(address)s, 1)
                   ON CONFLICT (address) DO UPDATE SET
                       (n, since) = (SELECT CASE WHEN is_over THEN 1 ELSE held.n + 1 END,
                                            CASE WHEN is_over THEN now() ELSE held.since END
                                     FROM (SELECT held.since < now() - make_interval(secs => %(within)s)) AS x(is_over))
                """,
                {"address": _key(address), "within": cls.WITHIN.total_seconds()},
            )

    @classmethod
    def are_too_many(cls, address: str) -> bool:
        return cls.objects.filter(address=_key(address), n__gte=cls.MOST, since__gte=Now() - cls.WITHIN).exists()

    @classmethod
    def forget_old(cls) -> None:
        cls.objects.filter(since__lt=Now() - cls.WITHIN).delete()


def _key(address: str) -> str:
    return address.replace("\x00", "")[:64]
