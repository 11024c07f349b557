"""Routes of the app, collected from its packages."""

from projects.accounts import urls as accounts_urls
from projects.api import token_urls
from projects.guides import urls as guides_urls
from projects.log import urls as log_urls
from projects.people import urls as people_urls
from projects.rubric import urls as rubric_urls
from projects.settings import urls as settings_urls
from projects.texts import urls as texts_urls
from projects.webhooks import urls as webhooks_urls

app_name = "projects"

urlpatterns = [
    *accounts_urls.urlpatterns,
    *guides_urls.urlpatterns,
    *people_urls.urlpatterns,
    *settings_urls.urlpatterns,
    *rubric_urls.urlpatterns,
    *texts_urls.urlpatterns,
    *token_urls.urlpatterns,
    *webhooks_urls.urlpatterns,
    *log_urls.urlpatterns,
]
