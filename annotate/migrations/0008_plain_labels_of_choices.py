"""Give choices their labels in plain English; the stored values stay."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotate", "0007_figures_count_changes"),
    ]

    operations = [
        migrations.AlterField(
            model_name="batch",
            name="order",
            field=models.CharField(
                choices=[
                    ("breadth", "one pass over all HITs first"),
                    ("depth", "complete one HIT before the next"),
                    ("passage", "stay with a passage, else one pass over all HITs"),
                ],
                default="breadth",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="batch",
            name="presentation",
            field=models.CharField(
                choices=[("page", "all items on one page"), ("one", "one item at a time, without going back")],
                default="page",
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="batch",
            name="use_of_trial",
            field=models.CharField(
                blank=True,
                choices=[
                    ("leave_out", "exclude the trial’s candidates"),
                    ("count", "count the trial’s judgments"),
                    ("anew", "collect the trial’s candidates again"),
                ],
                db_default="",
                default="",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="item",
            name="control",
            field=models.CharField(
                choices=[
                    ("none", "none"),
                    ("known_answer", "known answer"),
                    ("repeat", "repeat"),
                    ("degraded", "degraded"),
                    ("source", "undegraded original"),
                ],
                db_default="none",
                max_length=14,
            ),
        ),
        migrations.AlterField(
            model_name="item",
            name="recipe",
            field=models.CharField(
                blank=True,
                choices=[
                    ("reference", "a reference"),
                    ("edited", "an edited reference"),
                    ("other", "the reference of another question"),
                    ("candidate", "a rated candidate"),
                    ("degraded", "a degraded answer"),
                ],
                db_default="",
                default="",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="qualificationtest",
            name="feedback",
            field=models.CharField(
                choices=[
                    ("none", "pass or fail only"),
                    ("score", "score"),
                    ("full", "score, answers and explanations"),
                ],
                default="score",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="qualificationtest",
            name="on_new_rubric",
            field=models.CharField(
                choices=[("ask", "everyone retakes the test"), ("keep", "people who passed stay qualified")],
                default="ask",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="qualityrules",
            name="gold_rule",
            field=models.CharField(
                choices=[("mean", "mean"), ("median", "median"), ("z", "mean of z-scores")],
                db_default="mean",
                default="mean",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="review",
            name="state",
            field=models.CharField(
                choices=[("waiting", "to do"), ("rated", "rated blind"), ("done", "done")],
                default="waiting",
                max_length=10,
            ),
        ),
    ]
