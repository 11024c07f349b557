"""How static files are named and served."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class ModuleStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # no types
    """Hashed names, also inside the imports of ES modules."""

    support_js_module_import_aggregation = True
