"""The paper's figures: their files, their contents, and the cache of trained densities."""

import dataclasses

import jax
import jax.numpy as jnp
import matplotlib.image
import numpy as np
import paramax
import pytest

from foliax import io
from foliax.dequantizers import HeavyTailed
from foliax.estimators import DequantizedFlow, FitResult
from foliax.flows import RealNVP
from foliax.manifolds import Sphere
from foliax.manifolds.conversions import vectors_from_latlon, vectors_from_rotations
from foliax.paper import figures, model_cache, pictures, recipes, run, targets
from foliax.training import Training

from .. import small


def tiny_row(name, quick=True, steps=5):
    """A row that trains for a few steps."""
    row = recipes.find_row(name, quick)
    training = Training(steps=steps, batch_size=8, eval_every=5)
    parts = {"ambient": RealNVP(2, 8, activation="silu"), "dequantizer": HeavyTailed(4)}
    if not isinstance(row.estimator, DequantizedFlow):
        parts = {}
    spec = dataclasses.replace(row.estimator, training=training, **parts)
    return dataclasses.replace(row, estimator=spec, rows=row.rows and 100)


@pytest.fixture(scope="module")
def tiny():
    """Short trainings and coarse maps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "find_row", tiny_row)
        patch.setattr(figures, "QUICK_CELLS", 300)
        patch.setattr(pictures, "HEIGHTS", (-0.4, 0.4))
        yield


@pytest.fixture(scope="module")
def drawn(tiny, tmp_path_factory):
    """(folder, files, shown titles) of all figures; only S² is trained, the others are exact."""
    folder, shown = tmp_path_factory.mktemp("figures") / "new", []
    load_or_train = model_cache.load_or_train

    def some(folder, row):
        return load_or_train(folder, row) if row.name == figures.S2 else row.target(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_cache, "load_or_train", some)
        return folder, figures.draw(folder, quick=True, show=shown.append), shown


@pytest.mark.slow
def test_every_figure_is_a_png_and_a_pdf(drawn):
    folder, made, shown = drawn
    names = ["sphere", "hypersphere", "torus", "rotations", "dequantization"]
    assert [path.relative_to(folder).name for path in made] == [
        f"{name}.{suffix}" for name in names for suffix in ("png", "pdf")
    ]
    assert shown == ["S²", "S³", "T²", "SO(3)", "dequantization"]
    for path in made:
        start = b"%PDF-" if path.suffix == ".pdf" else b"\x89PNG"
        assert path.read_bytes().startswith(start)


@pytest.mark.slow
def test_no_figure_is_blank(drawn):
    for path in drawn[1][::2]:
        pixels = (255 * matplotlib.image.imread(path)[..., :3]).astype(int)
        assert pixels.shape[1] == 1480  # 7.4 inches at 200 dpi
        inked = (pixels < 250).any(-1)
        assert inked.mean() > 0.1, path.name
        assert len(np.unique(pixels @ [65536, 256, 1])) > 200, path.name
        # The margin is white, so nothing is cut off.
        rim = np.concatenate([inked[0], inked[-1], inked[:, 0], inked[:, -1]])
        assert not rim.any(), path.name


@pytest.fixture
def trained(monkeypatch, drawn):
    """Replace training by a stub; return the list of densities that it was called for."""
    names, saved = [], io.load(drawn[0] / "models" / f"{figures.S2}.foliax")

    def fit(estimator, data, *, key):
        names.append(data.manifold)
        return FitResult(saved.density, saved.record)

    monkeypatch.setattr(DequantizedFlow, "fit", fit)
    return names


@pytest.mark.slow
def test_a_second_drawing_trains_nothing(drawn, trained, monkeypatch):
    folder, made, _ = drawn
    before = [path.read_bytes() for path in made[:2]]
    monkeypatch.setattr(figures, "PICTURES", {"sphere": figures.PICTURES["sphere"]})
    assert figures.draw(folder, quick=True, show=lambda _: None) == made[:2]
    assert trained == []
    assert [path.read_bytes() for path in made[:2]] == before


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["missing", "cut", "steps", "trial", "target"])
def test_a_density_of_other_settings_is_trained_again(
    drawn, trained, monkeypatch, tmp_path, damage
):
    path = tmp_path / "models" / f"{figures.S2}.foliax"
    path.parent.mkdir()
    data = (drawn[0] / "models" / path.name).read_bytes()
    row = tiny_row(figures.S2, steps=6 if damage == "steps" else 5)
    if damage != "missing":
        path.write_bytes(data[:-100] if damage == "cut" else data)
    if damage == "target":
        other = targets.SphereModes(Sphere(2), ((0.0, 0.0, 1.0),), 3.0)
        row = dataclasses.replace(row, target=lambda number: other)
    if damage == "trial":
        monkeypatch.setattr(model_cache, "SHOWN_TRIAL", 1)
    model_cache.load_or_train(tmp_path, row)
    assert trained == [Sphere(2)]
    model_cache.load_or_train(tmp_path, row)
    assert trained == [Sphere(2)]


@pytest.mark.slow
def test_what_a_trial_has_trained_is_not_trained_again(drawn, trained, monkeypatch, tmp_path):
    """Our own rows store the density of the first trial; other rows store none."""
    monkeypatch.setattr(run.Job, "row", property(lambda job: tiny_row(job.name)))
    monkeypatch.setattr(run.trial, "measure", lambda *_: {})
    for name in (figures.S2, "table1-s2-deq-realnvp-elbo"):
        for number in (0, 1):
            run._run_trial(tmp_path, run.Job(name, number, True))
    assert len(trained) == 4
    model_cache.load_or_train(tmp_path / run.FIGURES_FOLDER, tiny_row(figures.S2))
    assert len(trained) == 4
    assert len(list((tmp_path / run.FIGURES_FOLDER / "models").iterdir())) == 1


def test_an_exact_density_is_not_trained_again(tmp_path, monkeypatch):
    row = tiny_row("table3-unimodal-foliax")
    made = model_cache.load_or_train(tmp_path, row)
    monkeypatch.delattr(model_cache.trial, "fit")
    found = model_cache.load_or_train(tmp_path, row)
    point = jnp.array([0.3, -1.2])
    assert found.log_prob(point).value == made.log_prob(point).value


def test_figures_show_our_own_rows():
    names = {name for picture in figures.PICTURES.values() for name in picture.rows}
    own = {row.name for row in recipes.rows() if row.method == recipes.OWN}
    assert names == own - {"table4-procrustes-foliax"}


@pytest.mark.slow
def test_radii_given_the_point_have_total_mass_one():
    density = small.density(Sphere(2).dequantization())
    lon = np.linspace(-120, 180, 3)
    points = vectors_from_latlon(np.zeros_like(lon), lon, degrees=True)
    radii = np.geomspace(1e-4, 1e3, 1000)
    exact, learned = figures.radius_logs(density, points, radii)
    for logs in (exact, learned):
        np.testing.assert_allclose(np.trapezoid(np.exp(logs), radii, axis=1), 1, atol=2e-3)


@pytest.mark.slow
def test_radii_given_the_point_are_as_the_flow_has_them():
    density = small.density(Sphere(2).dequantization())
    s, radii = np.array([0.6, -0.8, 0.0]), np.array([0.3, 0.9, 1.7])
    logs = figures.radius_logs(density, s[None], radii)[0][0]
    flow = paramax.unwrap(density.ambient)
    expected = [2 * np.log(r) + float(flow.log_prob_and_cost(jnp.asarray(r * s))[0]) for r in radii]
    np.testing.assert_allclose(np.diff(logs), np.diff(expected), atol=1e-3)


def test_slices_agree_with_the_density_and_fill_s3():
    target = targets.sphere_s3()
    field = pictures.slice_field(target, 0.4, 800)
    lat, lon = -90 + 9 * 13.5, -180 + 9 * 25.5
    s = vectors_from_latlon(np.array([lat]), np.array([lon]), degrees=True)[0]
    point = np.append(np.sqrt(1 - 0.4**2) * s, 0.4)
    assert field.logs[13, 25] == pytest.approx(
        float(target.log_prob(jnp.asarray(point)).value), abs=1e-4
    )
    # ∫ √(1 − h²) ∫ p ds dh = 1, by Chebyshev's second rule for h.
    n = 16
    turns = np.pi * np.arange(1, n + 1) / (n + 1)
    mass = 0.0
    for turn in turns:
        part = pictures.slice_field(target, float(np.cos(turn)), 1800)
        inner = 4 * np.pi * (part.weights * np.exp(part.logs)).sum()
        mass += np.pi / (n + 1) * np.sin(turn) ** 2 * inner
    assert mass == pytest.approx(1, abs=5e-3)


def test_torus_maps_have_the_first_angle_across():
    logs = pictures.torus_logs(targets.torus_unimodal(), 40)
    up, across = np.unravel_index(np.argmax(logs), logs.shape)
    assert [across, up] == [int(angle / (2 * np.pi) * 40) for angle in (4.18, 5.96)]
    assert np.exp(logs).mean() * 4 * np.pi**2 == pytest.approx(1, abs=1e-3)


def test_targets_are_above_and_left_of_what_was_learned():
    pair = pictures.Pair(targets.torus_unimodal(), targets.torus_multimodal())
    figure = pictures.torus((pair, pair, pair), 1200)
    upper, lower = (ax.images[0].get_array() for ax in (figure.axes[0], figure.axes[3]))
    for image, density in zip((upper, lower), pair, strict=True):
        np.testing.assert_allclose(image, np.exp(pictures.torus_logs(density, 20)), rtol=1e-5)
    assert figure.axes[0].get_ylabel().startswith("target")
    assert figure.axes[3].get_ylabel().startswith("learned")


@pytest.mark.slow
def test_angles_of_rotations_have_their_density():
    target = targets.rotations_so3()
    at = np.linspace(0, 180, 37)
    found = pictures.angle_density(target, at)
    assert np.trapezoid(found, at) == pytest.approx(1, abs=4e-3)
    rows = target.sample(20_000, key=jax.random.key(0))
    angles = np.linalg.norm(vectors_from_rotations(rows, degrees=True), axis=1)
    counts, _ = np.histogram(angles, at[::4])
    mass = [np.trapezoid(found[i : i + 5], at[i : i + 5]) for i in range(0, 36, 4)]
    np.testing.assert_allclose(counts / len(rows), mass, atol=0.015)
