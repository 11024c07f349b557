"""What catalogues of data sets read: the header of the README as the Hugging Face Hub wants it, and croissant.json."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from results.sets.archive import File
from results.sets.citing import Citation, dump_yaml
from results.sets.codebook import Column, Kind
from results.sets.licences import LICENCES

CROISSANT = "croissant.json"
DEFAULT_CONFIG = "judgments"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that version 1.0 of Croissant prescribes."""

_SIZES = ((10**3, "1K"), (10**4, "10K"), (10**5, "100K"), (10**6, "1M"), (10**7, "10M"))
_DATA_TYPES = {
    Kind.TEXT: "sc:Text",
    Kind.NUMBER: "sc:Float",
    Kind.WHOLE: "sc:Integer",
    Kind.TRUTH: "sc:Boolean",
    Kind.TIME: "sc:DateTime",
    Kind.OBJECT: "sc:Text",
}

Tables = Sequence[tuple[str, str, tuple[Column, ...]]]
"""The Parquet files of a set: the name of each table, its file and its columns."""


def write_header(
    citation: Citation, tables: Tables, *, languages: Sequence[str], n_rows: int, tags: Sequence[str]
) -> str:
    """Return the YAML header of a dataset card, with the lines that enclose it."""
    header: dict[str, Any] = {
        "pretty_name": citation.title,
        "license": LICENCES[citation.licence].hub if citation.licence else "unknown",
        "language": list(languages),
        "size_categories": [name_size(n_rows)],
        "task_categories": ["question-answering"],
        "tags": list(tags),
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == DEFAULT_CONFIG else {}),
                "data_files": file,
            }
            for name, file, _columns in tables
        ],
    }
    return f"---\n{dump_yaml({name: value for name, value in header.items() if value})}---\n"


def name_size(n_rows: int) -> str:
    """Return the Hub's category of a number of rows."""
    before = ""
    for limit, name in _SIZES:
        if n_rows < limit:
            return f"{before}<n<{name}" if before else f"n<{name}"
        before = name
    return "10M<n<100M" if n_rows < 10**8 else "100M<n<1B"


def write_croissant(path: Path, citation: Citation, tables: Tables, files: Sequence[File], *, bibtex: str) -> None:
    """Describe the Parquet files of a set and their columns in Croissant 1.0."""
    by_name = {file.name: file for file in files}
    content = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": citation.title,
        "description": citation.about,
        "citeAs": bibtex,
        "creator": [
            {"@type": "sc:Organization" if author.name else "sc:Person", "name": str(author)}
            for author in citation.authors
        ],
        "datePublished": citation.date,
        # Croissant wants three numbers.
        "version": f"{citation.version}.0.0",
        "isLiveDataset": False,
        **({"license": LICENCES[citation.licence].url} if citation.licence else {}),
        **({"url": citation.url} if citation.url else {}),
        "distribution": [_describe_file(by_name[file]) for _name, file, _columns in tables],
        "recordSet": [_describe_table(name, file, columns) for name, file, columns in tables],
    }
    path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def _describe_file(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.n_bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _describe_table(name: str, file: str, columns: Sequence[Column]) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "field": list(_list_fields(name, file, columns)),
    }


def _list_fields(name: str, file: str, columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    for column in columns:
        # Lists of records have no type in Croissant; their columns are in the file all the same.
        if column.kind is not Kind.LIST:
            yield {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "description": column.meaning,
                "dataType": _DATA_TYPES[column.kind],
                "source": {"fileObject": {"@id": file}, "extract": {"column": column.name}},
            }
