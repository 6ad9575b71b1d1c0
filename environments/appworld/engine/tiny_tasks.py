"""The tiny world's tasks, written out as the engine's task folders with everything that its own verification needs."""

import json
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from .tiny_scenarios import SCENARIOS, Scenario, Variant
from .tiny_world import NOW, PASSWORD_APPS, Person

SPLITS: dict[str, list[Scenario]] = {
    split: [scenario for scenario in SCENARIOS if scenario.split == split] for split in dict.fromkeys(s.split for s in SCENARIOS)
}
"""The real benchmark's names; the engine's own verification covers train and dev."""

ANSWERED = "The task is marked complete and its answer is the expected one."
UNTOUCHED = "Nothing in any app is changed."
DONE = "The task is marked complete without an answer, and exactly the expected models are changed."
OUTSIDE = "No model besides the expected ones is changed."
RECORDS = "In {model}, exactly the expected records are added and changed."

QUESTION = f"""import json


def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    task = models.end.supervisor.Task.first()
    with test({ANSWERED!r}):
        test.case(task.status, "==", "success")
        test.answer(json.loads(task.answer), ground_truth_answer)
    with test({UNTOUCHED!r}):
        test.case(models.changed_model_names(), "==", set())
"""

ERRAND = f"""import json


def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    task = models.end.supervisor.Task.first()
    expected = private_data["changes"]
    changed = models.changed_model_names()
    with test({DONE!r}):
        test.case(task.status, "==", "success")
        test.answer(json.loads(task.answer), None)
        test.case(changed, "==", set(expected))
    for model in expected:
        with test({RECORDS!r}.format(model=model)):
            added, updated, removed = models.changed_records(model)
            wanted = expected[model]["added"]
            found = [{{name: getattr(record, name) for name in wanted[0]}} for record in added] if wanted else added
            test.case(sorted(found, key=repr), "==", sorted(wanted, key=repr))
            seen = {{str(r.id): {{n: getattr(r, n) for n in models.changed_field_names(model, r.id)}} for r in updated}}
            test.case(sorted(seen), "==", sorted(expected[model]["updated"]))
            for identity, fields in expected[model]["updated"].items():
                seen[identity].pop("updated_at", None)
                test.case(sorted(seen[identity]), "==", sorted(fields))
                for name, value in fields.items():
                    test.case(value is None or seen[identity][name] == value)
            test.case(len(removed), "==", 0)
    with test({OUTSIDE!r}):
        test.case(changed - set(expected), "==", set())
"""


@dataclass(frozen=True)
class Spec:
    """One task of a scenario: its person and its values."""

    scenario: Scenario
    number: int
    variant: Variant

    @property
    def name(self) -> str:
        return f"{self.scenario.name}_{self.number}"

    @property
    def instruction(self) -> str:
        return self.scenario.instruction.format(**self.variant.values)

    @property
    def blocks(self) -> list[str]:
        return [_filled(block, self.variant.values) for block in self.scenario.blocks]

    @property
    def apps(self) -> list[str]:
        return [app for app in PASSWORD_APPS if any(f"apis.{app}." in block for block in self.scenario.blocks)]


def write_tasks(folder: Path) -> None:
    """Write every task's folder under `folder` (ROOT/data/tasks); the base databases must be there."""
    from appworld.common.utils import freeze_time

    frozen = freeze_time(NOW)
    frozen.start()
    try:
        for scenario in SCENARIOS:
            for number, variant in enumerate(scenario.variants, start=1):
                _write_task(folder, Spec(scenario, number, variant))
    finally:
        frozen.stop()


def _filled(block: str, values: dict[str, Any]) -> str:
    for name, value in values.items():
        block = block.replace(f"<{name}>", repr(value))
    return block


def _write_task(folder: Path, spec: Spec) -> None:
    from appworld.apps import get_all_apps
    from appworld.collections.models import ModelCollection

    home = folder / spec.name
    (home / "dbs").mkdir(parents=True)
    apps = ModelCollection.load(
        from_db_home_path=str(folder.parent / "base_dbs"), to_db_home_path=f":memory:task_input-{spec.name}", load_apps=list(get_all_apps())
    )
    changes = spec.scenario.changes(apps, spec.variant) if spec.scenario.changes else None
    _supervise(apps.supervisor, spec.variant.person, spec.instruction)
    apps.save(str(home / "dbs"), format="changes", app_names=list(get_all_apps()), delete_if_exists=True)
    apps.close()
    _write_specs(home, spec)
    _write_truth(home / "ground_truth", spec, changes)


def _supervise(supervisor: Any, person: Person, instruction: str) -> None:
    row = supervisor.Supervisor.create_save(
        **person.names, email=person.email, phone_number=person.phone_number, birthday=person.birthday, sex=person.sex
    )
    for app in PASSWORD_APPS:
        supervisor.AccountPassword.create_save(supervisor_id=row.id, account_name=app, password=person.password(app))
    supervisor.Task.create_save(supervisor_id=row.id, instruction=instruction)


def _write_specs(home: Path, spec: Spec) -> None:
    from appworld.common.constants import CANARY_STRING, DB_VERSION

    person = spec.variant.person
    supervisor = {**person.names, "email": person.email, "phone_number": person.phone_number}
    specs = {"instruction": spec.instruction, "supervisor": supervisor, "datetime": NOW.isoformat(), "db_version": DB_VERSION}
    _json(home / "specs.json", {**specs, "canary_string": CANARY_STRING})


def _write_truth(home: Path, spec: Spec, changes: dict[str, Any] | None) -> None:
    home.mkdir()
    body = "\n".join(spec.blocks)
    labels = {ANSWERED: "no_op_fail", UNTOUCHED: "no_op_pass"}
    if changes is not None:
        labels = {DONE: "no_op_fail", **{RECORDS.format(model=model): "no_op_fail" for model in changes}, OUTSIDE: "no_op_pass"}
    calls = {part.split("(")[0] for part in body.split("apis.")[1:]}
    metadata = {
        "mode": "full",
        "difficulty": spec.scenario.difficulty,
        "num_apps": len(spec.apps),
        "num_apis": len(calls),
        "num_solution_code_lines": len(body.splitlines()),
    }
    _json(home / "metadata.json", metadata)
    _json(home / "public_data.json", spec.variant.values)
    _json(home / "private_data.json", {} if changes is None else {"changes": changes})
    _json(home / "answer.json", spec.variant.answer)
    _json(home / "test_data.json", [{"requirement": text, "label": label} for text, label in labels.items()])
    _json(home / "required_apps.json", spec.apps)
    _json(home / "solution_code.json", spec.blocks)
    solution = f"def solution(apis, requester):\n{indent(body, '    ')}\n"
    (home / "evaluation.py").write_text(QUESTION if changes is None else ERRAND, encoding="utf-8")
    (home / "solution.py").write_text(solution, encoding="utf-8")
    (home / "compiled_solution.py").write_text(solution, encoding="utf-8")


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
