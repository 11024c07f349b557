"""The backend that checks passwords, and reads the account of every request."""

from django.contrib.auth.backends import ModelBackend

from projects.database.prepared import Columns, fetch_one
from projects.models import User

_USER = Columns(User, "u")
_FETCH = f"SELECT {_USER.sql} FROM {User._meta.db_table} u WHERE u.id = %(user)s::bigint"


class AccountBackend(ModelBackend):
    """Django's passwords and permissions; an account is read by a prepared statement."""

    def get_user(self, user_id: int) -> User | None:
        values = fetch_one(_FETCH, {"user": user_id})
        user = None if values is None else _USER.take(values)
        return user if user is not None and self.user_can_authenticate(user) else None
