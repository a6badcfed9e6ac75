"""A kept hand as one file that another installation reads back, byte for byte. ``docs/export.md`` has the format."""

from capture.exchange.errors import ExchangeError
from capture.exchange.exporting import Export, export_hand
from capture.exchange.importing import Import, import_hand

__all__ = ["ExchangeError", "Export", "Import", "export_hand", "import_hand"]
