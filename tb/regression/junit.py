"""JUnit XML of a regression, as continuous integration servers read it."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

from recspeed.tb.regression.verdict import Verdict


def write_junit(path: Path, suite: str, verdicts: Sequence[Verdict]) -> None:
    """Write one test case per verdict; the class name is the build, the faults are the failure."""
    failed = sum(not verdict.passed for verdict in verdicts)
    root = ElementTree.Element("testsuites")
    element = ElementTree.SubElement(
        root, "testsuite", name=suite, tests=str(len(verdicts)), failures=str(failed), errors="0"
    )
    for verdict in verdicts:
        build, _, name = verdict.name.partition(".")
        case = ElementTree.SubElement(element, "testcase", classname=build, name=name)
        if not verdict.passed:
            failure = ElementTree.SubElement(case, "failure", message=verdict.faults[0])
            failure.text = "\n".join(verdict.faults)
    tree = ElementTree.ElementTree(root)
    ElementTree.indent(tree)
    tree.write(path, encoding="utf-8", xml_declaration=True)
