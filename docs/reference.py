"""Write the API reference from signatures and docstrings: Markdown, one page for each module."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxtyping import PRNGKeyArray

from .command_reference import NOTE, column_kinds, command_line

MODULES = {
    "foliax": "the names that `import foliax` gives",
    "foliax.manifolds": "manifolds and their dequantizations",
    "foliax.manifolds.auxiliary": "the sets of z",
    "foliax.manifolds.conversions": "conversions between conventions and points",
    "foliax.flows": "densities on R^m",
    "foliax.flows.manifold": "bijections of manifolds",
    "foliax.distributions": "distributions in closed form",
    "foliax.dequantizers": "densities q(z ∣ y)",
    "foliax.density": "densities on manifolds, with error bars",
    "foliax.training": "objectives, checkpoints and the training loop",
    "foliax.estimators": "ways to fit a density",
    "foliax.evaluation": "samples, masses and divergences",
    "foliax.tables": "columns and schemas",
    "foliax.io": "model files",
    "foliax.plots": "plots",
    "foliax.paper.targets": "densities with known truth",
}
SECTIONS = ("Args", "Returns", "Raises", "Yields", "Attributes")


def write(folder: Path, *, check: bool) -> int:
    """Write the pages, or with `check` only compare; return how many are stale."""
    found = {f"{name}.md": text for name, text in render_pages()}
    old = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    stale = sorted(n for n in found.keys() | old.keys() if found.get(n) != old.get(n))
    if check:
        for name in stale:
            print(f"docs/generated/api/{name} is stale: python -m docs.build api")
        return len(stale)
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in found:
            (folder / name).write_text(found[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return 0


def render_pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of every page."""
    index = []
    for module, about in MODULES.items():
        index.append(f"| [`{module}`]({module}.md) | {about} |")
        yield module, module_page(module)
    yield "command-line", command_line()
    yield "schema", column_kinds()
    yield (
        "README",
        f"{NOTE}\n# Reference\n\n[Command line](command-line.md) · "
        "[Kinds of columns in a schema](schema.md)\n\n| module | what is in it |\n|---|---|\n"
        + "\n".join(index)
        + "\n",
    )


def module_page(name: str) -> str:
    """Render a module: its docstring and its public names."""
    module = importlib.import_module(name)
    parts = [NOTE, f"# {name}\n", f"{inspect.getdoc(module) or ''}\n"]
    names = public_names(module)
    at = pages_by_name() if name == "foliax" else {}
    links = [f"[{n}]({f'{at[n]}.md' if n in at else ''}#{anchor(n, names)})" for n in names]
    parts.append(" · ".join(links) + "\n")
    parts += [entry(n, getattr(module, n)) for n in names if n not in at]
    return "\n".join(parts)


def anchor(name: str, names: list[str]) -> str:
    """Return a heading's anchor; a number tells apart names that differ only in case."""
    alike = [n for n in names if n.lower() == name.lower()]
    number = alike.index(name)
    return f"{name.lower()}-{number}" if number else name.lower()


def pages_by_name() -> dict[str, str]:
    """Map names that have an entry on a module's page to that module."""
    modules = [m for m in MODULES if m != "foliax"]
    return {name: m for m in modules for name in public_names(importlib.import_module(m))}


def public_names(module: types.ModuleType) -> list[str]:
    """Return `__all__`, or else the classes and functions that the module defines."""
    named = getattr(module, "__all__", None)
    if named is None:
        named = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (inspect.isclass(value) or inspect.isroutine(value))
            and f"{value.__module__}.".startswith(f"{module.__name__}.")
        ]
    return sorted(named, key=lambda n: (n.isupper(), n.lower()))


def entry(name: str, value: Any) -> str:
    """Render a class, a function, a module or a constant."""
    parts = [f"## {name}\n"]
    if inspect.isclass(value):
        parts.append(fenced(f"class {name}{signature(value)}"))
        parts.append(doc(value))
        parts += methods(name, value)
    elif callable(value):
        parts.append(fenced(f"def {name}{signature(value)}"))
        parts.append(doc(value))
    elif isinstance(value, types.ModuleType):
        parts.append(f"{inspect.getdoc(value) or ''}\n")
    else:
        parts.append(fenced(f"{name} = {shorten(value)}"))
    return "\n".join(part for part in parts if part)


def doc(value: Any) -> str:
    """Render a docstring; return "" where it is inherited or made by Python."""
    text = inspect.getdoc(value) or ""
    made_up = inspect.isclass(value) and text.startswith(f"{value.__name__}(")
    inherited = inspect.isclass(value) and not value.__dict__.get("__doc__")
    return "" if made_up or inherited or not text else f"{format_sections(text)}\n"


def format_sections(text: str) -> str:
    """Render the Google-style sections of a docstring (Args, Returns, Raises) as lists."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if (title := line.removesuffix(":")) in SECTIONS and line.endswith(":"):
            inside = True
            lines += [f"*{title}*", ""]
        elif inside and re.match(r"    \S", line):
            name, colon, rest = line.strip().partition(": ")
            is_named = colon and re.fullmatch(r"\*{0,2}\w+(, \*{0,2}\w+)*", name)
            lines.append(f"- `{name}`: {rest}" if is_named else f"- {line.strip()}")
        elif inside and line.startswith("     "):
            lines.append(f"  {line.strip()}")
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join(lines)


def methods(owner: str, value: type) -> list[str]:
    """Render a class's public methods and properties, with those of its bases in foliax."""
    found = {}
    for base in reversed(value.__mro__):
        if base.__module__.startswith("foliax"):
            found.update({n: v for n, v in vars(base).items() if not n.startswith("_")})
    fields = {f.name for f in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else ()
    parts = []
    for name, raw in found.items():
        member = inspect.getattr_static(value, name)
        if name in fields or name in getattr(value, "_fields", ()):
            continue
        if isinstance(raw, property):
            text = inspect.getdoc(member) or inherited(value, name)
            parts.append(f"**`{owner}.{name}`** – {text or 'a property.'}\n")
            continue
        bound = getattr(value, name)
        if not callable(bound):
            continue
        about = inspect.getdoc(bound) or inherited(value, name)
        parts.append(f"**`{owner}.{name}{signature(bound, skip_self=True)}`**\n")
        parts.append(f"{format_sections(about)}\n" if about else "")
    return parts


def inherited(value: type, name: str) -> str:
    """Return the docstring that a base class gives a method, or ""."""
    for base in value.__mro__[1:]:
        text = inspect.getdoc(vars(base).get(name)) if name in vars(base) else None
        if text:
            return text
    return ""


def signature(value: Any, *, skip_self: bool = False) -> str:
    """Render a signature, with long defaults shortened."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(…)"
    parameters = list(found.parameters.values())
    if skip_self and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    parts, star = [], False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(render_parameter(parameter))
    result = annotation(found.return_annotation) if not inspect.isclass(value) else ""
    text = f"({', '.join(parts)})" + (f" -> {result}" if result not in ("", "None") else "")
    if len(text) > 88 and not skip_self:
        inner = "".join(f"    {part},\n" for part in parts)
        text = f"(\n{inner})" + (f" -> {result}" if result not in ("", "None") else "")
    return text


def render_parameter(parameter: inspect.Parameter) -> str:
    """Render one parameter."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = annotation(parameter.annotation)
    text = f"{stars}{parameter.name}" + (f": {kind}" if kind else "")
    if parameter.default is not parameter.empty:
        text += f" = {shorten(parameter.default)}" if kind else f"={shorten(parameter.default)}"
    return text


def annotation(value: Any) -> str:
    """Render an annotation as the source has it."""
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, str):
        return value
    text = inspect.formatannotation(value)
    text = text.replace(inspect.formatannotation(PRNGKeyArray), "PRNGKeyArray")
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text)


def shorten(value: Any) -> str:
    """Render a value in at most 70 characters, without memory addresses."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__name__
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    text = re.sub(r"\s+", " ", text)
    return text if len(text) <= 70 else f"{text[: text.find('(') + 1]}…)" if "(" in text else "…"


def fenced(code: str) -> str:
    """Fence code that the tests do not run."""
    return f"```py\n{code}\n```\n"
