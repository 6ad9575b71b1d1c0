"""Writes the tiny world: `python -m engine.tiny ROOT` makes ROOT/data complete, the same on every run.

Everything is made with the engine's own models on the user's machine; nothing of it is to be passed on. Three traps of the engine are
dealt with here: record hashes come from the constructor's values (so they are computed again from the stored rows), default dates come
from the clock (so it is frozen), and raw SQL must be committed at once.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ENGINE_ROOT = "APPWORLD_ROOT"


def write(root: Path) -> None:
    """Make ROOT/data, which must not exist. A ROOT with "memory" in its path breaks the engine."""
    if "memory" in str(root.resolve()):
        raise SystemExit(f"{root}: the engine cannot work under a path that contains 'memory'")
    data = root / "data"
    if data.exists():
        raise SystemExit(f"{data} exists; give an empty folder")
    os.environ[ENGINE_ROOT] = str(root.resolve())
    from appworld.common.path_store import path_store

    path_store.reload()
    docs = _api_docs(data / "api_docs" / "standard")
    _base_databases(data / "base_dbs", docs)
    from .tiny_tasks import SPLITS, write_tasks

    write_tasks(data / "tasks")
    (data / "datasets").mkdir()
    for split, scenarios in SPLITS.items():
        names = [f"{scenario.name}_{number}" for scenario in scenarios for number in (1, 2, 3)]
        (data / "datasets" / f"{split}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _api_docs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Write the documents of all apps' APIs; the engine makes them out of its code."""
    from appworld.api_docs import prepare_api_docs
    from appworld.apps import get_all_apps
    from appworld.common.constants import CANARY_STRING

    docs = {app: prepare_api_docs(app) for app in get_all_apps(skip_admin=True)}
    for app, found in docs.items():
        write_json(folder / f"{app}.json", {doc["api_name"]: {**doc, "canary_string": CANARY_STRING} for doc in found})
    return docs


def _base_databases(folder: Path, docs: dict[str, list[dict[str, Any]]]) -> None:
    from appworld.apps import get_all_apps
    from appworld.collections.models import ModelCollection
    from appworld.common.utils import freeze_time

    from .tiny_history import add_history
    from .tiny_world import EARLIER, populate

    folder.mkdir(parents=True)
    frozen = freeze_time(EARLIER)
    frozen.start()
    try:
        apps = ModelCollection.load(to_db_home_path=str(folder), load_apps=list(get_all_apps()), create_db=True)
        populate(apps)
        add_history(apps)
        _document(apps.api_docs.ApiDoc, docs)
        rehash(apps)
        apps.vaccum()
        apps.close()
    finally:
        frozen.stop()


def _document(model: Any, docs: dict[str, list[dict[str, Any]]]) -> None:
    """Let the app that tells agents of APIs tell of those that lead somewhere here: an account, the task, or itself."""
    from .tiny_world import PASSWORD_APPS

    for app in ("api_docs", "supervisor", *PASSWORD_APPS):
        model.save_all(
            [model.create(**{"app_name_" if key == "app_name" else key: value for key, value in doc.items()}) for doc in docs[app]]
        )


def rehash(apps: Any) -> None:
    """Store every record's hash as the engine computes it when it reads the record back."""
    for models in apps.values():
        for model in models.SQLModel.models():
            if model.is_table_model():
                _rehash(model)


def _rehash(model: Any) -> None:
    from sqlalchemy import text

    for record in model.all():
        stored = record.record_hash
        record.set_record_hash()
        if record.record_hash != stored:
            with model.db.engine.begin() as connection:
                connection.execute(
                    text(f'UPDATE "{model.__tablename__}" SET record_hash = :hash WHERE id = :id'),
                    {"hash": record.record_hash, "id": record.id},
                )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m engine.tiny ROOT")
    write(Path(sys.argv[1]))
