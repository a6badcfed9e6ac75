"""How long a turn waited for the model, and the index that finds charges by their time."""

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # the index is built beside the writers

    dependencies = [
        ("capture", "0005_roles"),
    ]

    operations = [
        migrations.AddField(
            model_name="agentinferencecharge",
            name="latency_ms",
            field=models.IntegerField(blank=True, null=True),
        ),
        AddIndexConcurrently(
            model_name="agentinferencecharge",
            index=django.contrib.postgres.indexes.BrinIndex(
                autosummarize=True,
                fields=["charged_at"],
                name="agent_inference_charges_time",
                opclasses=["timestamptz_minmax_multi_ops"],
            ),
        ),
    ]
