"""Routes of judging, from the urls.py of each package. Reviews are under quality/ and come before its catch-all."""

from annotate.attempts import urls as attempts_urls
from annotate.batches import urls as batches_urls
from annotate.controls import urls as controls_urls
from annotate.data import urls as data_urls
from annotate.desk import urls as desk_urls
from annotate.imports import urls as imports_urls
from annotate.moderation import urls as moderation_urls
from annotate.panels import urls as panels_urls
from annotate.payments import urls as payments_urls
from annotate.planning import urls as planning_urls
from annotate.prolific import urls as prolific_urls
from annotate.qualification import urls as qualification_urls
from annotate.quality import urls as quality_urls
from annotate.reviews import urls as reviews_urls
from annotate.surveys import urls as surveys_urls
from annotate.work import urls as work_urls

app_name = "annotate"

urlpatterns = [
    *work_urls.urlpatterns,  # first, because routes are tried one after the other, and these are asked for most
    *desk_urls.urlpatterns,
    *data_urls.urlpatterns,
    *imports_urls.urlpatterns,
    *planning_urls.urlpatterns,
    *batches_urls.urlpatterns,
    *panels_urls.urlpatterns,
    *prolific_urls.urlpatterns,
    *surveys_urls.urlpatterns,
    *controls_urls.urlpatterns,
    *attempts_urls.urlpatterns,
    *qualification_urls.urlpatterns,
    *moderation_urls.urlpatterns,
    *reviews_urls.urlpatterns,
    *quality_urls.urlpatterns,
    *payments_urls.urlpatterns,
]
