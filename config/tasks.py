"""Periodic tasks of the whole site."""

import logging

from celery import shared_task

from config.backups import losses

logger = logging.getLogger(__name__)


@shared_task(name="config.verify_files", ignore_result=True)
def verify_files() -> None:
    for sentence in losses.find_unaccepted():
        logger.error(sentence)
