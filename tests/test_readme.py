import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def cost(code):
    """A flow's training takes its minute."""
    return [pytest.mark.slow] if "DequantizedFlow(" in code else []


@pytest.mark.parametrize(
    "code", [pytest.param(code, marks=cost(code), id=str(i)) for i, code in enumerate(EXAMPLES)]
)
def test_the_examples_run(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    assert len(capsys.readouterr().out) > 50


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
