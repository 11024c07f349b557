"""Publishing a frozen set: laid out as a folder that the Hugging Face Hub takes, and pushed there."""

import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from django.conf import settings as site

from projects.errors import Refused
from results.models import JudgmentSet
from results.sets import archive, citing, freezing, parquet, readme, retiring
from results.sets.building import SET
from results.sets.cards import CROISSANT
from results.sets.depositing import read_json
from results.sets.readme import README
from results.sets.settings import Settings

NOT_OURS = {".gitattributes", README}
"""Files that the Hub itself puts into a new repository."""
MARKS = {archive.MANIFEST, archive.SUMS, SET}
"""Files that tell a judgment set on the Hub from anything else."""


@dataclass(frozen=True, kw_only=True)
class PublicationTerms:
    """Authors, licence and languages for a set that was frozen without them."""

    authors: Sequence[str] = ()
    licence: str = ""
    languages: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.authors or self.licence or self.languages)


NO_TERMS = PublicationTerms()


@dataclass(frozen=True)
class Published:
    """Where a set was published, its files, which of them are not those of the archive, and what they replaced."""

    place: str
    files: tuple[str, ...]
    added: tuple[str, ...]
    replaced: str = ""


def write_folder(judgment_set: JudgmentSet, folder: Path, terms: PublicationTerms = NO_TERMS) -> Published:
    """Write the files of a set into a folder that is new, empty, or holds this set already.

    Raises Refused for any other folder, for a set that must not be passed on, and where a file cannot be written.
    """
    _refuse_unpublishable(judgment_set, terms)
    try:
        return _write_folder(judgment_set, folder, terms)
    except OSError as error:
        raise Refused(f"{error.filename or folder} cannot be written: {error.strerror}.") from error


def push(
    judgment_set: JudgmentSet,
    repository: str,
    *,
    is_public: bool,
    replaces_others: bool = False,
    terms: PublicationTerms = NO_TERMS,
) -> Published:
    """Push the files of a set to a data set on the Hub, in one commit. Raises Refused, also where the Hub refuses.

    One that exists stays public or private; a public one is written to only with `is_public`. It may hold this set or
    an earlier one of the project, and any other only with `replaces_others`. Nothing is half done: a push that failed
    can be repeated.
    """
    try:
        from httpx2 import HTTPError
        from huggingface_hub import HfApi, is_offline_mode
    except ModuleNotFoundError as error:
        raise Refused("huggingface_hub is not installed. Run make hub, then try again.") from error
    if not site.HF_TOKEN:
        raise Refused(
            "Set HF_TOKEN in the environment to a token of the Hub that may write. There is no option for it, as "
            "options stay in the history of the shell."
        )
    if is_offline_mode():
        raise Refused(
            "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set in the environment, which keeps huggingface_hub from the "
            "network. Unset it and run the command again, or write the set with --to-folder."
        )
    hub = HfApi(endpoint=site.HF_ENDPOINT, token=site.HF_TOKEN)
    with TemporaryDirectory() as temporary:
        # Whatever fails on this side does so before the Hub is asked for anything.
        folder = Path(temporary) / "set"
        published = write_folder(judgment_set, folder, terms)
        try:
            hub.create_repo(repository, repo_type="dataset", private=not is_public, exist_ok=True)
            if not is_public and not hub.dataset_info(repository).private:
                raise Refused(
                    f"{repository} is public. Add --public if everybody may read the set. Otherwise make it private on "
                    "the Hub, or choose another name."
                )
            there = set(hub.list_repo_files(repository, repo_type="dataset"))
            if not (there <= NOT_OURS or there >= MARKS):
                raise Refused(f"{repository} holds something other than a judgment set. Choose another name.")
            replaced = ""
            if there >= MARKS:
                downloaded = hub.hf_hub_download(repository, SET, repo_type="dataset", local_dir=temporary)
                replaced = _name_replaced(judgment_set, Path(downloaded), repository, replaces_others=replaces_others)
            hub.upload_folder(
                repo_id=repository,
                repo_type="dataset",
                folder_path=folder,
                commit_message=f"Judgment set {judgment_set.number}",
                # Files of an earlier set of the project that this one does not have; the history keeps them.
                delete_patterns="*",
            )
        except (HTTPError, OSError, ValueError, RuntimeError) as error:
            raise Refused(
                f"The Hub did not accept the set: {_explain(error)} "
                f"{repository} holds what it held before; run the command again once this is settled."
            ) from error
    return replace(published, place=f"{site.HF_ENDPOINT}/datasets/{repository}", replaced=replaced)


def _name_replaced(judgment_set: JudgmentSet, path: Path, repository: str, *, replaces_others: bool) -> str:
    """Return which set a push replaces, by its `set.json`; empty for the same set. Raises Refused for a foreign one."""
    # Projects of two sites may have one address, so that neither this nor the number tells whose set it is.
    try:
        about = orjson.loads(path.read_bytes())
        slug, number = str(about["project"]["slug"]), int(about["set"]["number"])
    except (ValueError, LookupError, TypeError):
        raise Refused(f"{repository} holds something other than a judgment set. Choose another name.") from None
    own = judgment_set.project.judgment_sets.filter(number=number).first()
    is_of_project = own is not None and read_json(own, SET) == about
    if is_of_project and number == judgment_set.number:
        return ""
    name = f"judgment set {number}" if is_of_project else f"judgment set {number} of another project, “{slug}”"
    if not replaces_others and not (is_of_project and number < judgment_set.number):
        raise Refused(f"{repository} holds {name}. Choose another name, or add --replace to write over it.")
    return name


def _refuse_unpublishable(judgment_set: JudgmentSet, terms: PublicationTerms) -> None:
    if not judgment_set.is_frozen:
        raise Refused("Only a frozen set can be published.")
    if judgment_set.retired_at is not None or judgment_set.pk in retiring.find_taken_out(judgment_set.project):
        raise Refused(f"Judgment set {judgment_set.number} is retired. Publish the set that replaces it.")
    if breaches := freezing.verify(judgment_set):
        raise Refused(f"Judgment set {judgment_set.number} has changed since it was frozen.", details=breaches)
    if terms and _has_cards(judgment_set):
        raise Refused("The authors, licence and languages of this set are frozen. Freeze another set to change them.")
    citing.refuse_wrong_terms(terms.authors, terms.licence, terms.languages)


def _has_cards(judgment_set: JudgmentSet) -> bool:
    return any(file.name == CROISSANT for file in freezing.find_files(judgment_set))


def _write_folder(judgment_set: JudgmentSet, folder: Path, terms: PublicationTerms) -> Published:
    is_there = folder.exists()
    if is_there and any(folder.iterdir()) and not _holds(folder, judgment_set):
        raise Refused(f"{folder} holds something else. Choose a new or empty folder.")
    # Everything is written elsewhere first, so that the folder is never half of a set; beside it or in it, so that
    # moving copies nothing.
    workspace = (folder if is_there else folder.parent) / f".publishing-{secrets.token_hex(8)}"
    try:
        made = archive.unpack(
            freezing.find_path(judgment_set),
            workspace,
            inside=judgment_set.facts["folder"],
            files=freezing.find_files(judgment_set),
            is_packed=False,
        )
        added = () if _has_cards(judgment_set) else _write_cards(judgment_set, made, terms)
        files = tuple(sorted(path.name for path in made.iterdir()))
        if is_there:
            # The manifest first: should moving be interrupted, it tells the next attempt whose folder this is.
            for name in sorted(files, key=lambda name: name != archive.MANIFEST):
                (made / name).replace(folder / name)
        else:
            made.rename(folder)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return Published(str(folder), files, added)


def _holds(folder: Path, judgment_set: JudgmentSet) -> bool:
    """Return whether a folder has the manifest of this very set."""
    (sha256,) = (file.sha256 for file in freezing.find_files(judgment_set) if file.name == archive.MANIFEST)
    with suppress(OSError):
        return archive.compute_sha256(folder / archive.MANIFEST) == sha256
    return False


def _write_cards(judgment_set: JudgmentSet, folder: Path, terms: PublicationTerms) -> tuple[str, ...]:
    """Add the cards that a set frozen by an earlier version lacks; return the files that are not of the archive."""
    before = {path.name for path in folder.iterdir()}
    about = orjson.loads((folder / SET).read_bytes())
    own = {"authors": list(terms.authors), "licence": terms.licence, "languages": list(terms.languages)}
    about["settings"] |= {name: value for name, value in own.items() if value}
    parquet.write_tables(folder, Settings.from_dict(about["settings"]))
    citation = readme.cite(folder, about, judgment_set.facts)
    header = readme.write_cards(folder, about, judgment_set.facts, citation)
    added = {path.name for path in folder.iterdir()} - before
    note = (
        "> This set was frozen without cards. They were written when it was published, on "
        f"{datetime.now(UTC):%Y-%m-%d}: the header and this note in README.md, and {', '.join(sorted(added))}. "
        f"All other files are those of the archive, whose SHA-256 is {judgment_set.sha256}. manifest.json and "
        "SHA256SUMS are too: they list README.md as it was and none of the new files.\n"
    )
    path = folder / README
    path.write_text(f"{header}\n{note}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    return (README, *sorted(added))


def _explain(error: Exception) -> str:
    """Return what the library says as sentences, with the reason where it names the file alone."""
    told = [error, error.__cause__] if isinstance(error, RuntimeError) and error.__cause__ else [error]
    return " ".join(f"{' '.join(str(each).split()).rstrip('.')}." for each in told)
