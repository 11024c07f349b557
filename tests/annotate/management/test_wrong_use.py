"""Options that cannot be read are wrong use: exit 2, the sentence on stderr, nothing on stdout."""

from typing import Any

import pytest
from django.core.management import get_commands, load_command_class

JUDGMENTS = ["import_judgments", "x.csv"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*JUDGMENTS, "--criterion", "x"], "Use column=key:low-high"),
        ([*JUDGMENTS, "--criterion", "a=b:5-1"], "the lowest value must be smaller than"),
        ([*JUDGMENTS, "--criterion", "a=Correctness:1-5"], "in “a=Correctness:1-5”. Use at most"),
        ([*JUDGMENTS, "--map", "a=candidate"], "field “candidate”. Known fields"),
        (["import_candidates", "x.csv", "--map", "a=poem"], "field “poem”. Known fields"),
        (["import_candidates", "x.csv", "--map", "candidate"], "Invalid mapping “candidate”. Use COLUMN=FIELD"),
        (["split_passages", "--shares", "train"], "use the form train=75"),
        (["split_passages", "--shares", "train=1"], "at least two splits"),
        (["split_passages", "--shares", "train=1,dev=-1"], "must be greater than zero"),
        (["batch", "1", "--hits", "one"], "“one” is not a number"),
        (["batch", "1", "--hits", "9-1"], "“9-1” is not a range"),
        (["batch", "1", "explode"], "invalid choice: 'explode'"),
        (["controls", "plan"], "the following arguments are required: --batch"),
        (["controls", "--batch", "1", "explode"], "invalid choice: 'explode'"),
        (["plan", "--trial", "sometimes"], "invalid choice: 'sometimes'"),
        (["standing", "anna", "warn"], "the following arguments are required: --why"),
        (["import_candidates", "x.csv", "--dataset-kind", "poem"], "invalid choice: 'poem'"),
        (["import_candidates", "x.csv", "--drop-equal", "nearly"], "invalid choice: 'nearly'"),
        (["import_candidates", "x.csv", "--second-reference-below", "half"], "invalid float value: 'half'"),
        *(
            (["create_batch", *each], sentence)
            for each, sentence in (
                (["--questions", "yes-no=many"], "“yes-no=many” is not valid"),
                (["--questions", "yes-no=²"], "“yes-no=²” is not valid"),
                (["--sample", "0"], "a number of candidates, or “all”"),
                (["--sample", "²"], "a number of candidates, or “all”"),
                (["--trial", "sometimes"], "invalid choice: 'sometimes'"),
                (["--order", "sideways"], "invalid choice: 'sideways'"),
                (["--fee-share", "half"], "invalid float value: 'half'"),
                (["--max-hits", "some"], "invalid int value: 'some'"),
            )
        ),
    ],
)
def test_an_option_that_cannot_be_read_is_wrong_use(arguments: list[str], sentence: str, capsys: Any) -> None:
    name, *rest = arguments
    with pytest.raises(SystemExit) as wrong:
        load_command_class(get_commands()[name], name).run_from_argv(["manage.py", name, "--project", "x", *rest])
    output = capsys.readouterr()
    assert (wrong.value.code, output.out) == (2, "")
    assert sentence in output.err


@pytest.mark.parametrize("field", ["", "ignore", "reference_3", "reference_2_opinion"])
def test_what_a_column_may_hold(field: str) -> None:
    command = load_command_class(get_commands()["import_candidates"], "import_candidates")
    parser = command.create_parser("manage.py", "import_candidates")
    options = parser.parse_args(["x.csv", "--project", "x", "--map", f"a=b={field}"])
    assert options.map == [("a=b", field)]
