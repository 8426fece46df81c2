"""The JSON report: golden files, its schema, and that the schema catches mistakes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tileverify.results import Report
from tileverify.results.json_report import json_report, report_from_json, result_from_json, result_to_json, schema_text

VALIDATOR = jsonschema.Draft202012Validator(json.loads(schema_text()))


def test_json_is_as_expected_and_valid(report: Report, request: pytest.FixtureRequest, golden: str) -> None:
    text = json_report(report)
    assert text == golden
    if "refuted-two-places" not in request.node.name:  # two of its witnesses name no replay, on purpose
        VALIDATOR.validate(json.loads(text))


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


def test_results_survive_the_way_to_json_and_back(report: Report) -> None:
    for result in report.results:
        assert result_from_json(json.loads(json.dumps(result_to_json(result)))) == result


def test_reports_survive_the_way_to_json_and_back(report: Report) -> None:
    assert report_from_json(json.loads(json_report(report))) == report


@pytest.mark.parametrize("report", ["mixed"], indirect=True)
def test_what_earlier_versions_had_in_contract_is_what_is_stated(report: Report) -> None:
    document = json.loads(json_report(report))
    expected = tuple(replace(each, contract="written") for each in report.results)
    for result in document["results"]:
        result["contract"] = result.pop("stated")
    assert report_from_json(document).results == expected
    assert tuple(map(result_from_json, document["results"])) == expected


@pytest.mark.parametrize("report", ["mixed"], indirect=True)
@pytest.mark.parametrize(
    "key", ["verdict", "holds_for", "requires", "assumes", "findings", "bytecode_sha256", "time_ms"]
)
def test_a_result_that_lacks_a_key_of_all_versions_is_none(report: Report, key: str) -> None:
    document = result_to_json(report.results[0])
    del document[key]
    with pytest.raises(KeyError, match=key):
        result_from_json(document)


@pytest.mark.parametrize("report", ["mixed"], indirect=True)
def test_what_json_has_no_key_for_is_never_taken_from_it(report: Report) -> None:
    document = result_to_json(report.results[1])
    others = {"details": 1, "playback": 1, "certificate": 1, "proved_launch": 1, "later": 1}
    document["findings"] = [{**each, "denied": True} for each in document["findings"]]
    assert result_from_json(document | others) == report.results[1]


def test_json_is_ascii_whatever_names_hold(report: Report) -> None:
    assert json_report(report).isascii()


def _set(*path: Any) -> Callable[[dict[str, Any]], None]:
    *way, key, value = path

    def change(document: dict[str, Any]) -> None:
        for step in way:
            document = document[step]
        document[key] = value

    return change


def _drop(*path: Any) -> Callable[[dict[str, Any]], None]:
    *way, key = path

    def change(document: dict[str, Any]) -> None:
        for step in way:
            document = document[step]
        del document[key]

    return change


PROVED, REFUTED, UNDECIDED, FAILED = (("results", number) for number in range(4))
FINDING = (*REFUTED, "findings", 0)


@pytest.mark.parametrize("report", ["mixed"], indirect=True)
@pytest.mark.parametrize(
    "mistake",
    [
        _set("schema", "tileverify/report/2"),
        _drop("tool", "trusted"),
        _set("tool", "trusted", []),
        _set(*PROVED, "verdict", "ok"),
        _set(*PROVED, "holds_for", None),
        _set(*PROVED, "holds_for", "most"),
        _set(*PROVED, "bytecode_sha256", ""),
        _set(*PROVED, "bytecode_sha256", "XYZ"),
        _set(*PROVED, "requires", "grid.y == 1"),
        _set(*PROVED, "findings", [{"code": "TV101", "message": "m", "sites": [], "hints": []}]),
        _drop(*PROVED, "obligations", "solver"),
        _drop(*PROVED, "time_ms", "prove"),
        _set(*PROVED, "time_ms", "prove", -1),
        _set(*REFUTED, "holds_for", "any"),
        _set(*REFUTED, "findings", []),
        _set(*REFUTED, "verdict", "undecided"),
        _set(*REFUTED, "verdict", "proved"),
        _drop(*FINDING, "witness"),
        _drop(*FINDING, "hints"),
        _set(*FINDING, "sites", []),
        _set(*FINDING, "code", "TV1"),
        _drop(*FINDING, "witness", "grid"),
        _set(*FINDING, "witness", "grid", [0, 1, 1]),
        _set(*FINDING, "witness", "block_a", [1, 2]),
        _set(*FINDING, "witness", "sizes", {"N": "128"}),
        _set(*FINDING, "witness", "confirmed_by", ""),
        _drop(*FINDING, "sites", 0, "array"),
        _set(*FINDING, "sites", 0, "line", 0),
        _set(*FINDING, "hints", 0, "applicability", "certain"),
        _set(*UNDECIDED, "findings", []),
        _set(*UNDECIDED, "findings", 0, "code", "TV101"),
        _set(*FAILED, "findings", []),
    ],
)
def test_schema_catches_mistakes(report: Report, mistake: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(json_report(report))
    VALIDATOR.validate(document)
    wrong = copy.deepcopy(document)
    mistake(wrong)
    assert not VALIDATOR.is_valid(wrong)
