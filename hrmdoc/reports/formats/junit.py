"""JUnit XML as Jenkins, GitLab and others read it: a suite a run, a case a finding.

https://github.com/testmoapp/junitxml
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from hrmdoc.reports.formats.result import UNREAD, Finding, Result

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write."""


def render(results: Sequence[Result], fail_on: str) -> str:
    """A finding at or above `fail_on` fails, what could not be read is an error, and the rules that
    could not be evaluated are one case that was skipped. A run without a finding is one case that passed."""
    root = ET.Element("testsuites", name="hrmdoc")
    for result in results:
        _suite(root, result, fail_on)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, 0)) for suite in root)))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(root: ET.Element, result: Result, fail_on: str) -> None:
    suite = ET.SubElement(root, "testsuite", name=_xml(result.name))
    counts: Counter[str] = Counter()
    for finding in result.findings:
        counts[_case(suite, result, finding, fail_on)] += 1
    if not result.findings:
        ET.SubElement(suite, "testcase", classname=_xml(result.name), name=result.verdict)
    if result.open:
        case = ET.SubElement(suite, "testcase", classname=_xml(result.name), name="not evaluated")
        open_rules = f"{len(result.open)} rules lack what they need"
        ET.SubElement(case, "skipped", message=open_rules).text = ", ".join(result.open)
        counts["skipped"] += 1
    suite.set("tests", str(len(suite)))
    for kind, key in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(key, str(counts[kind]))


def _case(suite: ET.Element, result: Result, finding: Finding, fail_on: str) -> str:
    """One finding as a case; the answer is the name of its outcome."""
    case = ET.SubElement(suite, "testcase", classname=_xml(result.name), name=_xml(_name(finding)))
    if finding.file:
        case.set("file", _xml(finding.file))
    if finding.line:
        case.set("line", str(finding.line))
    where = finding.file + (f":{finding.line}" if finding.line else "")
    helps = f"What helps: {remedy}" if (remedy := result.remedy_for(finding)) else ""
    known = f"acknowledged: {finding.known}" if finding.known else ""
    detail = "\n".join(filter(None, (finding.said, known, where, helps)))
    if finding.known or not finding.fails(fail_on):
        ET.SubElement(case, "system-out").text = _xml(detail)
        return "passed"
    kind = "error" if finding.id == UNREAD else "failure"
    outcome = ET.SubElement(case, kind, message=_xml(finding.said), type=finding.severity)
    outcome.text = _xml(detail)
    return kind


def _name(finding: Finding) -> str:
    return f"{finding.id} [{finding.metric}]" if finding.metric else finding.id


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)
