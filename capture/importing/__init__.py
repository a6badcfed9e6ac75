"""Runs that others recorded: files of four formats, read into events and artifacts, and kept."""

from capture.importing.building import ImportedRun, Reading
from capture.importing.errors import FileRefused, printable
from capture.importing.files import read_file
from capture.importing.recognising import Format
from capture.importing.storing import ImportedFile, Importer

__all__ = [
    "FileRefused",
    "Format",
    "ImportedFile",
    "ImportedRun",
    "Importer",
    "Reading",
    "printable",
    "read_file",
]
