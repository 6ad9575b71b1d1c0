"""The canonical diff: what an episode changed, in a form that is the same for two runs with the same effect.

For each model: the added rows without their ids, a reference to another new row replaced by that row's own content; of the updated rows
the fields that changed and their new values; the ids of the removed rows. So the order of insertions does not matter, what was undone is
not a change, and numbers are equal as numbers. Left out, as by the engine's own scorer: the task's row and cards' balances. Left out
because they depend on the time or on a random draw: `updated_at` of updated rows; the value of a random code.

This file is also the head of every synthesized task's evaluation.py: it imports nothing but the standard library, and nothing of ours.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

Rows = Mapping[int, Mapping[str, Any]]
"""Rows of one model by id."""
IGNORED_MODELS = ("supervisor.Task", "admin.PaymentCard")
IGNORED_FIELDS = ("id", "record_hash")
CODE = "<code>"


def canonical_diff(world: Any) -> dict[str, Any]:
    """The diff of an open world: from its task's beginning to now."""
    from appworld.collections.models import ModelCollectionPair

    start = world.task.model_collection
    return diff_of(ModelCollectionPair(start.from_db_home_path, start, world.models.to_db_home_path, world.models))


def diff_of(models: Any) -> dict[str, Any]:
    """The diff of the engine's pair of model collections."""
    counts = models.start.model_hashes(), models.end.model_hashes()
    changed = [name for name in counts[1] if counts[0].get(name) != counts[1][name]]
    changed = [name for name in changed if name not in IGNORED_MODELS and not name.endswith("ModelHash")]
    if not changed:
        return {}
    before = {name: _rows(models.start, name) for name in changed}
    after = {name: _rows(models.end, name) for name in changed}
    return compare(
        before, after, {name: _links(models.end, name) for name in changed}, {name: _names(models.end, name) for name in changed}
    )


def _rows(apps: Any, name: str) -> Rows:
    app, model = name.split(".")
    table = apps[app][model].__table__
    stored = [column.name for column in table.columns]
    structured = {column.name for column in table.columns if type(column.type).__name__ == "JSON"}
    fields = ", ".join(f'"{field}"' for field in stored)
    rows = {}
    for values in apps[app].SQLModel.db.connection.execute(f'SELECT {fields} FROM "{table.name}"'):
        row = {f: json.loads(v) if f in structured and isinstance(v, str) else v for f, v in zip(stored, values, strict=True)}
        rows[row["id"]] = row
    return rows


def _names(apps: Any, name: str) -> dict[str, str]:
    """The model that `<thing>_id` and `<thing>_ids` refer to in an app, by "<thing>"."""
    from appworld.common.utils import cached_singularize

    app = name.split(".")[0]
    return {cached_singularize(model.__tablename__): f"{app}.{model.__name__}" for model in apps[app].SQLModel.models()}


def _links(apps: Any, name: str) -> dict[str, str]:
    """The fields of a model that refer to rows, where they are not called after them: field to model."""
    app, model = name.split(".")
    names = _names(apps, name)
    found = {}
    for field, reference in apps[app][model].field_mapping().items():
        if (target := names.get(_stem(reference))) is not None:
            found[field] = target
    return found


def _stem(field: str) -> str:
    return field.removesuffix("_ids").removesuffix("_id")


def compare(
    before: Mapping[str, Rows],
    after: Mapping[str, Rows],
    links: Mapping[str, Mapping[str, str]],
    names: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """The diff of two states of the same models ("app.Model" to rows).

    `links`: for each model, the fields that refer to rows and to which model; `names`: what a field `<name>_id` or `<name>_ids` refers to.
    """
    view = _View(before, after, links, names)
    found = {}
    for model in sorted(after):
        if (change := view.change(model)) is not None:
            found[model] = change
    return found


class _View:
    def __init__(
        self,
        before: Mapping[str, Rows],
        after: Mapping[str, Rows],
        links: Mapping[str, Mapping[str, str]],
        names: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.before, self.after, self.links, self.names = before, after, links, names

    def change(self, model: str) -> dict[str, Any] | None:
        old, new = self.before.get(model, {}), self.after[model]
        added = Counter(text_of(self.row(model, new[number], ((model, number),))) for number in new.keys() - old.keys())
        removed = {number: text_of(self.row(model, old[number], ((model, number),))) for number in sorted(old.keys() - new.keys())}
        for number, text in list(removed.items()):  # removed and added again: nothing has changed
            if added[text] > 0:
                added[text] -= 1
                del removed[number]
        updated = {}
        for number in sorted(old.keys() & new.keys()):
            if fields := self.updated(model, old[number], new[number]):
                updated[str(number)] = fields
        rows = [json.loads(text) for text in sorted(added.elements())]
        return {"added": rows, "updated": updated, "removed": list(removed)} if rows or updated or removed else None

    def updated(self, model: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
        skipped = (*IGNORED_FIELDS, "updated_at")
        changed = [field for field in sorted(new) if field not in skipped and plain(old.get(field)) != plain(new[field])]
        return {field: self.value(model, field, new[field], ()) for field in changed}

    def row(self, model: str, row: Mapping[str, Any], above: tuple[tuple[str, int], ...]) -> dict[str, Any]:
        return {field: self.value(model, field, row[field], above) for field in sorted(row) if field not in IGNORED_FIELDS}

    def value(self, model: str, field: str, value: Any, above: tuple[tuple[str, int], ...]) -> Any:
        if isinstance(value, dict):
            return {str(key): self.value(model, str(key), item, above) for key, item in sorted(value.items())}
        if isinstance(value, list):
            return [self.value(model, field, item, above) for item in value]
        if field.endswith("_code") and field != "zip_code" and value is not None:
            return CODE
        target = self.target(model, field)
        if target is None or isinstance(value, bool) or not isinstance(value, int) or not self.is_new(target, value):
            return plain(value)
        if (target, value) in above:
            return {"new": target}
        return {"new": self.row(target, self.after[target][value], (*above, (target, value)))}

    def target(self, model: str, field: str) -> str | None:
        if not field.endswith(("_id", "_ids")):
            return None
        return self.links.get(model, {}).get(field) or self.names.get(model, {}).get(_stem(field))

    def is_new(self, model: str, number: int) -> bool:
        return number in self.after.get(model, {}) and number not in self.before.get(model, {})


def plain(value: Any) -> Any:
    """The value as plain JSON, in which equal numbers look the same: 3.0 becomes 3, True becomes 1, floats have at most six decimals."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 6)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def text_of(value: Any) -> str:
    """One text for equal JSON values."""
    return json.dumps(plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
