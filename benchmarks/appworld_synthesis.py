"""Validate synthesized AppWorld tasks: which candidates are admitted, which are refused, and for which reason.

    python benchmarks/appworld_synthesis.py [NAME ...]      only the candidates whose ids begin with one of the names

There are two kinds of candidates for the tiny world's three people. The first are errands and questions that `compose` makes out of API
calls and of code: all must be admitted and scored 1 by the engine itself. The others are broken in a known way: each must be refused with
the reason of that way. The validator is "execution" with its defaults; the pool starts with the training split, and both test splits are
held out. Exits with 1 when a verdict differs from the expected one.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from coevolve import Action, CandidateTask, Origin, Step, Task, TaskPool
from coevolve.environments.appworld.environment import AppWorld, AppWorldOptions
from coevolve.plugins.validators.execution import Execution, ExecutionOptions

PEOPLE = (1, 2, 3)
"""Every scenario's variants: one for each of the three people."""
Made = Iterator[tuple[str, Task]]


def calls(*named: tuple[str, Mapping[str, Any]]) -> list[Step]:
    return [Step(Action(name, arguments), "") for name, arguments in named]


def blocks(*codes: str) -> list[Step]:
    return [Step(Action("execute", {"code": code, "calls": 0}), "") for code in codes]


def login(app: str) -> str:
    return (
        'passwords = {row["account_name"]: row["password"] for row in apis.supervisor.show_account_passwords()}\n'
        f'token = apis.{app}.login(username=apis.supervisor.show_profile()["email"], password=passwords["{app}"])["access_token"]'
    )


class Bench:
    def __init__(self, environment: AppWorld) -> None:
        self.environment = environment
        self.train = tuple(environment.tasks("train"))
        self.held_out = (*environment.tasks("test_normal"), *environment.tasks("test_challenge"))
        self.pool = TaskPool(self.train)
        self.validator = Execution(ExecutionOptions())
        self.start = {task.id: task for task in self.train}

    def seed(self, person: int) -> Task:
        return self.start[f"payback_{person}"]

    def compose(self, person: int, name: str, steps: Sequence[Step], query: str | None = None) -> Task:
        task = self.environment.compose(self.seed(person), steps, f"{name}:{person}", query)
        if task is None:
            raise SystemExit(f"{name}:{person} cannot be composed")
        return task

    def by_hand(self, person: int, name: str, query: str, answer: Any, *codes: str) -> Task:
        """A task whose reference was written by hand and never executed."""
        solution = tuple(Action("execute", {"code": code}) for code in codes)
        payload = {"start": f"payback_{person}", "code": list(codes), "reference": {"diff": {}, "answer": answer}}
        return Task(f"{name}:{person}", "appworld", query, solution=solution, payload=payload, origin=Origin("by hand"))

    def good(self) -> Iterator[Task]:
        """Tasks that must be admitted."""
        for person in PEOPLE:
            yield self.compose(person, "volume", calls(("spotify.set_volume", {"volume": person + 6})))
            yield self.compose(
                person, "follow", calls(("spotify.search_artists", {}), ("spotify.follow_artist", {"artist_id": person + 1}))
            )
            yield self.compose(
                person, "note", calls(("simple_note.create_note", {"title": f"Plan {person}", "content": f"Step {person}: begin."}))
            )
            yield self.compose(
                person,
                "comment",
                calls(
                    ("venmo.show_transactions", {"direction": "received"}),
                    ("venmo.create_transaction_comment", {"transaction_id": 4 * person, "comment": "Thank you!"}),
                ),
                f"Say 'Thank you!' in a comment below my oldest or newest payment, number {4 * person}.",
            )
            yield self.compose(person, "alarm", calls(("phone.show_alarms", {}), ("phone.delete_alarm", {"alarm_id": 2 * person})))
            projects = [("todoist.show_projects", {}), ("todoist.show_tasks", {"project_id": 2 * person})]
            yield self.compose(person, "priority", calls(*projects, ("todoist.update_task", {"task_id": 5 * person, "priority": "high"})))
            yield self.compose(
                person, "song", calls(("spotify.search_songs", {"page_limit": 20}), ("spotify.show_song", {"song_id": 3 * person}))
            )
            yield self.compose(
                person,
                "balance",
                blocks(
                    login("venmo"),
                    "balance = apis.venmo.show_venmo_balance(access_token=token)\nprint(balance)",
                    "apis.supervisor.complete_task(answer=next(iter(balance.values())))",
                ),
                f"How much money is in my Venmo account right now? Asked for the {person}. time.",
            )
            yield self.compose(
                person,
                "library",
                blocks(
                    login("spotify"),
                    "songs = apis.spotify.show_song_library(page_limit=20, access_token=token)\n"
                    f"gone = sorted(songs, key=lambda song: song['song_id'])[{person % 2}]",
                    'apis.spotify.remove_song_from_library(song_id=gone["song_id"], access_token=token)\napis.supervisor.complete_task()',
                ),
                f"Take the song with the {'second' if person % 2 else 'very'} lowest number out of my music library, please ({person}).",
            )

    def bad(self, admitted: Sequence[Task]) -> Made:
        """Tasks that must be refused, each with its reason."""
        yield from self._failing()
        yield from self._empty()
        yield from self._known(admitted)
        yield from self._held_out()

    def _failing(self) -> Made:
        done = "apis.supervisor.complete_task(answer=1)"
        yield "call_failed", self.by_hand(1, "undefined", "Count the lanterns of the harbour.", 1, "print(lanterns)", done)
        yield "call_failed", self.by_hand(2, "syntax", "Count the ships of the harbour.", 1, "for ship in:\n    pass", done)
        yield "call_failed", self.by_hand(3, "refused", "Count the gulls of the harbour.", 1, "apis.venmo.show_venmo_balance()", done)
        broke = login("venmo") + '\napis.venmo.create_transaction(receiver_email="elena.petrov@gmail.com", amount=9999, access_token=token)'
        yield "call_failed", self.by_hand(1, "broke", "Send Elena more than I have.", 1, broke, done)
        drawn = login("simple_note") + (
            '\napis.simple_note.create_note(title="Lot", content=str(random.SystemRandom().random()), access_token=token)\n'
            "apis.supervisor.complete_task()"
        )
        yield "replay_differs", self.by_hand(1, "lot", "Draw a lot and write it down.", None, drawn)
        printed = "print(random.SystemRandom().random())"
        yield "replay_differs", self.by_hand(2, "shown", "Draw a lot and say one.", 1, printed, done)

    def _empty(self) -> Made:
        sound = self.compose(2, "sound", calls(("spotify.set_volume", {"volume": 1})), "Make the music almost silent.")
        for person, answer in ((1, "four"), (2, "nine")):
            end = f'apis.supervisor.complete_task(answer="{answer}")'
            yield "no_effect", self.by_hand(person, "echo", f"Just say the word {answer} to me.", answer, end)
        for person in (1, 2):
            look = "print(apis.spotify.show_song(song_id=4))"
            bare = self.by_hand(person, "bare", f"Have a look at song 4, {person} times.", None, look, "apis.supervisor.complete_task()")
            yield "not_solved", bare
        reference = {**sound.payload["reference"], "answer": "louder"}
        yield "not_solved", attrs.evolve(sound, id="answer:2", payload={**sound.payload, "reference": reference})
        undone = self.compose(3, "undone", calls(("spotify.set_volume", {"volume": 2})), "Turn the music down to two.")
        yield "not_solved", attrs.evolve(undone, id="unfinished:3", solution=undone.solution[:-1])
        yield "malformed", attrs.evolve(sound, id="silent:2", query="  ")
        yield "malformed", attrs.evolve(sound, id="tickoff_1")

    def _known(self, admitted: Sequence[Task]) -> Made:
        for number, task in enumerate(admitted[:2]):
            yield "duplicate_text", attrs.evolve(task, id=f"again:{number}", query=f"Please, {task.query.lower()}")
            yield (
                "duplicate_actions",
                attrs.evolve(task, id=f"reworded:{number}", query=f"Wish number {number} of a quite different wording."),
            )
        email = {1: "rahul.castell@gmail.com", 2: "ingrid.moreau@gmail.com"}
        for person, amount, note in ((1, 18.5, "Sandwiches"), (2, 42.0, "Ladder rental")):
            paid = calls(("venmo.create_transaction", {"receiver_email": email[person], "amount": amount, "description": note}))
            wish = f"Pay {email[person]} what I owe: {amount} dollars for '{note}'."
            yield "duplicate_end_state", self.compose(person, "direct", paid, wish)

    def _held_out(self) -> Made:
        for number, task in enumerate(self.held_out[:2]):
            done = self.compose(1, "text", calls(("spotify.set_volume", {"volume": number})), task.query)
            yield "held_out_text", attrs.evolve(done, id=f"text:{number}")
        for person, artist in ((2, "Ada Quill"), (3, "Neon Harbour")):
            steps = blocks(
                login("spotify"),
                "for song in apis.spotify.show_song_library(page_limit=20, access_token=token):\n"
                f'    if song["artists"][0]["name"] == "{artist}":\n'
                '        apis.spotify.like_song(song_id=song["song_id"], access_token=token)\n'
                "apis.supervisor.complete_task()",
            )
            yield "held_out_family", self.compose(person, "fans", steps, f"Give a thumbs up to whatever I keep of {artist}.")
        for person, songs in ((1, (7, 8)), (2, (10, 11))):
            liked = calls(*(("spotify.like_song", {"song_id": song}) for song in songs))
            yield "held_out_end_state", self.compose(person, "thumbs", liked, f"Thumbs up for the songs {songs[0]} and {songs[1]}.")

    def verdict(self, task: Task) -> tuple[str, str, float]:
        began = time.perf_counter()
        found = self.validator.validate(CandidateTask(task), self.environment, self.pool, self.held_out)
        return found.reason, found.detail, time.perf_counter() - began

    def score(self, task: Task) -> float:
        """The engine's own evaluation of the task's solution."""
        with self.environment.open(task) as episode:
            for text in self.environment.script(task.solution):
                episode.step(text)
            return episode.score()


def chosen(task: Task) -> bool:
    return len(sys.argv) == 1 or task.id.startswith(tuple(sys.argv[1:]))


def main() -> int:
    bench = Bench(AppWorld(AppWorldOptions(data="tiny", block_seconds=5.0)))
    wrong = 0
    admitted: list[Task] = []
    refused: Counter[str] = Counter()
    for task in (task for task in bench.good() if chosen(task)):
        reason, detail, seconds = bench.verdict(task)
        score = bench.score(task) if reason == "accepted" else 0.0
        wrong += reason != "accepted" or score != 1.0
        print(f"{'ok ' if score == 1.0 else 'BAD'} {reason:20} {seconds:5.1f} s  {task.id:14} {detail or task.query}", flush=True)
        if reason == "accepted":
            admitted.append(task)
            bench.pool = bench.pool.with_tasks([task])
    for expected, task in ((expected, task) for expected, task in bench.bad(admitted) if chosen(task)):
        reason, detail, seconds = bench.verdict(task)
        wrong += reason != expected
        refused[reason] += reason == expected
        print(f"{'ok ' if reason == expected else 'BAD'} {reason:20} {seconds:5.1f} s  {task.id:14} {detail}", flush=True)
    kinds = ", ".join(f"{count} {reason}" for reason, count in sorted(refused.items()) if count)
    print(
        f"{len(admitted)} admitted, each scored 1 by the engine; {sum(refused.values())} refused as expected ({kinds}); {wrong} surprises"
    )
    bench.environment.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
