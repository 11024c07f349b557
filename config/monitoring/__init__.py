"""Monitoring: the health of the site, its metrics, and the addresses at which other programs read them."""

import os

from django.conf import settings

if settings.REQUEST_METRICS_DIR:
    # prometheus_client reads this variable when it is first imported; it may come from the file of settings.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = settings.REQUEST_METRICS_DIR
