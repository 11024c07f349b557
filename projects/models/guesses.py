"""Guesses of invitation links and API tokens, counted for each address."""

from datetime import timedelta

from django.db import connection, models
from django.db.models.functions import Now


class Guesses(models.Model):
    """How many unknown links or tokens an IP address has tried within fifteen minutes.

    Counted apart from failed sign-ins: a truncated link that was sent to many people in one building must not prevent
    all of them from signing in.
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
        """Count one guess of an address."""
        # One statement, so that simultaneous guesses are all counted. Both columns are set from one subquery, which
        # decides once whether the fifteen minutes of the stored row are over: also if they lie ahead by more than that,
        # since the clock was set back.
        with connection.cursor() as cursor:
            cursor.execute(
                """INSERT INTO projects_guesses AS held (address, n) VALUES (%(address)s, 1)
                   ON CONFLICT (address) DO UPDATE SET
                       (n, since) = (SELECT CASE WHEN is_over THEN 1 ELSE held.n + 1 END,
                                            CASE WHEN is_over THEN now() ELSE held.since END
                                     FROM (SELECT abs(extract(epoch FROM now() - held.since)) > %(within)s)
                                          AS x(is_over))
                """,
                {"address": _key(address), "within": cls.WITHIN.total_seconds()},
            )

    @classmethod
    def are_too_many(cls, address: str) -> bool:
        return cls._list_current().filter(address=_key(address), n__gte=cls.MOST).exists()

    @classmethod
    def forget_old(cls) -> None:
        cls.objects.exclude(pk__in=cls._list_current()).delete()

    @classmethod
    def _list_current(cls) -> "models.QuerySet[Guesses]":
        return cls.objects.filter(since__range=(Now() - cls.WITHIN, Now() + cls.WITHIN))


def _key(address: str) -> str:
    return address.replace("\x00", "")[:64]
