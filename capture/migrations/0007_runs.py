"""Kept runs, their events and artifacts; and lines of the access log about a run."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("capture", "0006_ledger_latency"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgentRunArtifact",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("data", models.BinaryField()),
                ("size", models.BigIntegerField()),
            ],
            options={
                "verbose_name": "kept artifact",
                "db_table": "agent_run_artifacts",
            },
        ),
        migrations.AddField(
            model_name="agentaccess",
            name="run_id",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AlterField(
            model_name="agentaccess",
            name="action",
            field=models.CharField(
                choices=[
                    ("read", "read turns"),
                    ("prompt", "opened a prompt"),
                    ("download", "downloaded a part of a turn"),
                    ("search", "searched"),
                    ("pin", "kept"),
                    ("export", "exported"),
                    ("import", "imported"),
                    ("read_run", "read a run"),
                    ("artifact", "opened an artifact of a run"),
                    ("keep_run", "kept a run"),
                    ("import_run", "imported a run"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="agentaccess",
            name="hand_number",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="agentaccess",
            name="table_id",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.CreateModel(
            name="AgentRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("agent_id", models.CharField(max_length=200)),
                ("run_id", models.CharField(max_length=200)),
                ("name", models.CharField(blank=True, max_length=200, null=True)),
                ("project", models.CharField(blank=True, max_length=200, null=True)),
                ("service", models.CharField(blank=True, max_length=200, null=True)),
                ("status", models.CharField(max_length=20)),
                ("began_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("lasted_ms", models.BigIntegerField(blank=True, null=True)),
                ("last_arrival", models.BigIntegerField()),
                ("counts", models.BinaryField()),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=200), default=list, size=None
                    ),
                ),
                ("table_id", models.CharField(blank=True, max_length=200, null=True)),
                ("hand_number", models.BigIntegerField(blank=True, null=True)),
                ("kept_by", models.TextField()),
                ("kept_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("kept_bytes", models.BigIntegerField(default=0)),
                ("why", models.TextField(blank=True)),
                (
                    "artifacts",
                    models.ManyToManyField(
                        db_table="agent_run_artifact_uses", related_name="runs", to="capture.agentrunartifact"
                    ),
                ),
            ],
            options={
                "verbose_name": "kept run",
                "db_table": "agent_runs",
            },
        ),
        migrations.CreateModel(
            name="AgentRunEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event_id", models.CharField(max_length=200)),
                ("arrival", models.BigIntegerField()),
                ("kind", models.CharField(max_length=200)),
                ("data", models.BinaryField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="capture.agentrun",
                    ),
                ),
            ],
            options={
                "verbose_name": "kept event",
                "db_table": "agent_run_events",
            },
        ),
        migrations.CreateModel(
            name="AgentRunBudget",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
                ("spent", models.BigIntegerField(default=0)),
            ],
            options={
                "verbose_name": "day of runs kept by rule",
                "verbose_name_plural": "days of runs kept by rule",
                "db_table": "agent_run_budgets",
            },
        ),
        migrations.AddIndex(
            model_name="agentrun",
            index=models.Index(fields=["last_at"], name="agent_runs_last"),
        ),
        migrations.AddIndex(
            model_name="agentrun",
            index=models.Index(fields=["agent_id", "last_at"], name="agent_runs_agent_last"),
        ),
        migrations.AddIndex(
            model_name="agentrun",
            index=models.Index(fields=["table_id", "hand_number"], name="agent_runs_hand"),
        ),
        migrations.AddIndex(
            model_name="agentrun",
            index=models.Index(fields=["kept_at"], name="agent_runs_kept"),
        ),
        migrations.AddIndex(
            model_name="agentrun",
            index=django.contrib.postgres.indexes.GinIndex(fields=["kinds"], name="agent_runs_kinds"),
        ),
        migrations.AddConstraint(
            model_name="agentrun",
            constraint=models.UniqueConstraint(fields=("agent_id", "run_id"), name="agent_runs_run"),
        ),
        migrations.AddConstraint(
            model_name="agentrunevent",
            constraint=models.UniqueConstraint(fields=("run", "event_id"), name="agent_run_events_event"),
        ),
    ]
