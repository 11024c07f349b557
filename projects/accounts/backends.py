"""The backend that checks passwords, and reads the account of every request."""

from django.contrib.auth.backends import ModelBackend

from projects.database.sign_ins import fetch_user
from projects.models import User


class AccountBackend(ModelBackend):
    """Django's passwords and permissions; an account is read with its session."""

    def get_user(self, user_id: int) -> User | None:
        user = fetch_user(user_id)
        return user if user is not None and self.user_can_authenticate(user) else None
