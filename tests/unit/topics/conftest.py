"""A small text with four topics, dates and teams, and the model trained on it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import spherevec
from spherevec import Model

SUBJECTS = {
    "sport": ["goal", "match", "team", "league", "coach", "striker", "stadium", "penalty", "referee", "cup"],
    "money": ["bank", "loan", "invoice", "refund", "credit", "interest", "payment", "account", "debt", "fund"],
    "space": ["orbit", "rocket", "moon", "planet", "satellite", "launch", "astronaut", "telescope", "star", "galaxy"],
    "cooking": ["oven", "flour", "butter", "recipe", "sugar", "dough", "pepper", "garlic", "sauce", "bake"],
}
EACH = 60


@pytest.fixture(scope="session")
def table_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("text") / "tickets.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["ticket", "subject", "body", "team", "created"])
        for number in range(4 * EACH):
            subject = list(SUBJECTS)[number % 4]
            words = [*random.choice(SUBJECTS[subject], 12), *random.choice(["the", "and", "of", "with"], 8)]
            random.shuffle(words)
            # Money is asked about by one team, and space rises from year to year.
            team = "billing" if subject == "money" and number % 8 else "support"
            year = 2020 + (int(random.integers(2, 5)) if subject == "space" else int(random.integers(0, 5)))
            rows.writerow([f"t{number}", f"{subject} {number}", " ".join(words), team, f"{year}-03-0{1 + number % 9}"])
    return path


@pytest.fixture(scope="session")
def model(table_file: Path) -> Model:
    return spherevec.train(
        str(table_file),
        text_field="body",
        id_field="ticket",
        title_field="subject",
        keep=["team", "created"],
        min_count=1,
        vector_size=16,
        epochs=60,
        threads=1,
    )


@pytest.fixture(scope="session")
def truth() -> list[int]:
    return [number % 4 for number in range(4 * EACH)]
