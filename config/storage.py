"""The storage of static files, which names them by their content."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # no types
    """Static files with hashed names, also in the imports of ES modules."""

    support_js_module_import_aggregation = True
