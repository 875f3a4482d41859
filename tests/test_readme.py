import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code[1], str(README), "exec"), {})
    assert len(capsys.readouterr().out) > 100
