"""Measure how well quality alerts separate bad annotators from good ones, on simulated work."""

import argparse
from typing import Any

from django.core.management.base import CommandParser

from demo.simulating import simulate
from demo.simulating.reporting import as_json, as_text
from demo.simulating.worlds import TUNED, UNSEEN, World, choose_world
from projects.commands import ReportingCommand

WORLDS = {world.name.replace(" ", "-"): world for world in (*TUNED, *UNSEEN)}
BY_TURNS = {"tuned": TUNED, "unseen": UNSEEN}


class Command(ReportingCommand):
    help = (
        "Let simulated annotators, a fifth of them bad, take and submit HITs in the same way as people, and print for "
        "each kind of alert how many bad and good ones it flags. It uses temporary tables, so nothing is stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--seed", type=int, required=True, help="seed of the random numbers")
        parser.add_argument("--annotators", type=int, default=20, help="how many, a fifth of them bad (default 20)")
        parser.add_argument("--hits", type=int, default=10, help="HITs per annotator (default 10)")
        parser.add_argument("--overlap", type=_numbers, default=[3, 1], help="judgments per answer (default 3,1)")
        parser.add_argument("--controls", type=_numbers, default=[0, 1, 2], help="controls per HIT (default 0,1,2)")
        parser.add_argument(
            "--world",
            choices=[*sorted(WORLDS), *BY_TURNS],
            default="usual",
            help="assumptions about people and texts; tuned and unseen use a different world for each seed",
        )

    def handle(
        self,
        *args: Any,
        seed: int,
        annotators: int,
        hits: int,
        overlap: list[int],
        controls: list[int],
        world: str,
        **options: Any,
    ) -> None:
        chosen = _world(world, seed)
        outcomes = simulate(
            seed=seed,
            world=chosen,
            n_annotators=annotators,
            n_hits=hits,
            overlaps=overlap,
            controls=controls,
            on_progress=self.progress,
        )
        self.answer(as_json(outcomes, seed=seed, world=chosen.name), as_text(outcomes, seed=seed, world=chosen.name))


def _world(name: str, seed: int) -> World:
    """Return the world of this name, or the seed's one among the tuned or the unseen worlds."""
    return choose_world(seed, BY_TURNS[name]) if name in BY_TURNS else WORLDS[name]


def _numbers(text: str) -> list[int]:
    """Read whole numbers separated by commas."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"“{text}” is not a list of whole numbers. Use the form 1,3.") from error
