"""Routes of results, joined from those of its rooms."""

from results.agreement import urls as agreement_urls
from results.disagreements import urls as disagreements_urls
from results.exports import urls as exports_urls
from results.leaderboard import urls as leaderboard_urls
from results.learned import urls as learned_urls
from results.metrics import urls as metrics_urls
from results.overview import urls as overview_urls
from results.reports import urls as reports_urls
from results.score_import import urls as score_import_urls
from results.scores import urls as scores_urls
from results.sets import urls as sets_urls
from results.studies import urls as studies_urls
from results.systems import urls as systems_urls
from results.training import urls as training_urls

app_name = "results"

urlpatterns = [
    *overview_urls.urlpatterns,
    *agreement_urls.urlpatterns,
    *scores_urls.urlpatterns,
    *systems_urls.urlpatterns,
    *disagreements_urls.urlpatterns,
    *metrics_urls.urlpatterns,
    *learned_urls.urlpatterns,
    *score_import_urls.urlpatterns,
    *reports_urls.urlpatterns,
    *sets_urls.urlpatterns,
    *studies_urls.urlpatterns,
    *leaderboard_urls.urlpatterns,
    *training_urls.urlpatterns,
    *exports_urls.urlpatterns,
]
