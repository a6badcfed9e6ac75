"""Runs that others recorded: files of four formats, read into events and artifacts."""

from capture.importing.building import ImportedRun, Reading
from capture.importing.errors import FileRefused, printable
from capture.importing.files import read_file
from capture.importing.recognising import Format

__all__ = ["FileRefused", "Format", "ImportedRun", "Reading", "printable", "read_file"]
