import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_the_examples_run(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    assert len(capsys.readouterr().out) > 50


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
