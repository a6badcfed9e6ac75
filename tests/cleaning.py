"""After a test whose rows were committed: only tables that have rows are emptied.

Django would empty all of them and make content types and permissions anew, which takes longer than most tests. Here the
ones that the migrations made stay.
"""

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import TransactionTestCase

_KEPT = {model._meta.db_table for model in (Permission, ContentType)}


def clean(case: TransactionTestCase) -> None:
    """Empty every table that is not empty."""
    if filled := _filled():
        names = ", ".join(map(connection.ops.quote_name, filled))
        with connection.cursor() as cursor:
            cursor.execute(f"TRUNCATE {names} CASCADE")


def _filled() -> list[str]:
    known = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = [(name, connection.ops.quote_name(name)) for name in sorted({*known} - _KEPT)]
    each = (f"SELECT '{name}' WHERE EXISTS (SELECT FROM {quoted})" for name, quoted in tables)  # noqa: S608 - our own
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(each))
        return [name for (name,) in cursor.fetchall()]
