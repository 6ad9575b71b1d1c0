"""The protocol and the score."""

import threading
from collections.abc import Callable

import attrs
import pytest

from coevolve import Task, UserError
from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.environment import Bfcl, BfclOptions
from coevolve.environments.bfcl.episode import BfclEpisode


def play(bfcl: Bfcl, task: Task, answers: tuple[str, ...]) -> float:
    with bfcl.open(task) as episode:
        for answer in answers:
            episode.step(answer)
        return episode.score()


def finish(episode: BfclEpisode, answer: str) -> float:
    while not episode.step(answer).done:
        pass
    return episode.score()


def test_every_solution_scores_one_and_silence_scores_nothing(bfcl: Bfcl) -> None:
    tasks = bfcl.tasks("all")
    assert [task.id for task in tasks if play(bfcl, task, bfcl.script(task.solution)) != 1.0] == []
    for silence in ("[]", "", "I cannot do that."):
        assert sum(finish(bfcl.open(task), silence) for task in tasks) == 0.0


def test_a_solution_without_one_of_its_calls_fails(bfcl: Bfcl) -> None:
    wrong = []
    for task in bfcl.tasks("all")[::5]:
        for place in range(len(task.solution)):
            turns: list[list[str]] = [[] for _ in task.payload["question"]]
            for n, action in enumerate(task.solution):
                if n != place:
                    turns[action.turn].append(str(Call(action.name, dict(action.arguments))))
            answers = [answer for calls in turns for answer in ([f"[{', '.join(calls)}]"] if calls else []) + ["[]"]]
            if play(bfcl, task, tuple(answers)) != 0.0:
                wrong.append((task.id, place))
    assert wrong == []


def test_turns_end_on_an_empty_or_undecodable_answer(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    with bfcl.open(task) as episode:
        assert [message["role"] for message in episode.messages] == ["system", "user"]
        assert episode.tools is None
        seen = episode.step("[cd(folder='document'), mkdir(dir_name='temp')]")
        assert [dict(message) for message in seen.messages] == [
            {"role": "tool", "name": "cd(folder='document')", "content": '{"current_working_directory": "document"}'},
            {"role": "tool", "name": "mkdir(dir_name='temp')", "content": "None"},
        ]
        assert [step.result for step in seen.steps] == [{"current_working_directory": "document"}, None]
        assert (seen.done, seen.fault) == (False, None)
        seen = episode.step("That is all.")
        assert [dict(message) for message in seen.messages] == task.payload["question"][1]
        assert (seen.steps, seen.done, seen.fault) == ((), False, None)
        seen = episode.step("I would rather not.")
        assert seen.fault is not None and "no calls" in seen.fault
        assert [step.action.turn for step in episode.step("[ls()]").steps] == [2]
        assert not episode.step("[]").done
        assert episode.step("[]").done
        with pytest.raises(RuntimeError, match="over"):
            episode.step("[]")


def test_the_answer_after_the_last_step_fails_the_episode(bfcl: Bfcl) -> None:
    task = next(task for task in bfcl.tasks("all") if len(task.payload["question"]) == 2)
    with bfcl.open(task) as episode:
        observations = [episode.step("[pwd()]") for _ in range(20)]
        assert not any(seen.done for seen in observations)
        last = episode.step("[pwd()]")
        assert last.done and last.fault == "more than 20 steps in turn 0"
        assert episode.score() == 0.0
    strict = Bfcl(BfclOptions(step_limit=1))
    with strict.open(task) as episode:
        episode.step("[pwd()]")
        assert episode.step("[pwd()]").done


def test_one_call_an_answer_scores_like_all_at_once(bfcl: Bfcl) -> None:
    for task in bfcl.tasks("all")[::10]:
        with bfcl.open(task) as episode:
            for turn in range(len(task.payload["question"])):
                for action in task.solution:
                    if action.turn == turn:
                        episode.step(str(Call(action.name, dict(action.arguments))))
                episode.step("[]")
            assert episode.score() == 1.0, task.id


def test_an_episode_cut_short_fails(bfcl: Bfcl) -> None:
    for task in bfcl.tasks("all")[:20]:
        assert play(bfcl, task, bfcl.script(task.solution)[:-1]) == 0.0


def test_extra_reads_are_free_and_an_extra_change_is_not(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    script = bfcl.script(task.solution)
    assert play(bfcl, task, ("[ls()]", "[pwd()]", *script)) == 1.0
    assert play(bfcl, task, ("[mkdir(dir_name='mine')]", *script)) == 0.0


def test_positional_arguments_are_bound_or_dropped(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    for positional, error in (("bind", None), ("drop", "missing 1 required positional argument")):
        step = Bfcl(BfclOptions(positional=positional)).open(task).step("[cd('document')]").steps[0]
        assert step.error is None if error is None else step.error is not None and error in step.error


def test_a_snapshot_brings_back_world_turn_and_score(bfcl: Bfcl) -> None:
    for task in bfcl.tasks("all")[::20]:
        script = bfcl.script(task.solution)
        with bfcl.open(task) as episode:
            start = episode.state()
            for answer in script[:2]:
                episode.step(answer)
            snapshot, state = episode.snapshot(), episode.state()
            for _ in range(2):
                finish(episode, "[]")
                assert episode.score() == 0.0
                episode.restore(snapshot)
                assert episode.state() == state
            for answer in script[2:]:
                episode.step(answer)
            assert episode.score() == 1.0
        assert bfcl.open(task).state() == start


def test_state_tells_states_apart(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    states = {}
    for answer in ("[]", "[ls()]", "[cd(folder='document')]", "[touch(file_name='a')]", "[touch(file_name='b')]"):
        episode = bfcl.open(task)
        episode.step(answer)
        states[answer] = episode.state()
    assert states["[]"] == states["[ls()]"]
    assert len(set(states.values())) == 4


def test_a_cache_of_prices_is_not_part_of_the_state(bfcl: Bfcl) -> None:
    """No later call can see which prices were asked for, so a wrong date that costs the same is not another state."""
    task = next(task for task in bfcl.tasks("all") if "TravelAPI" in task.payload["involved_classes"])
    ask = "[get_flight_cost(travel_from='SFO', travel_to='LAX', travel_date='{date}', travel_class='economy')]"
    states = set()
    for date in ("2026-12-10", "2026-12-01", "2026-12-10x"):
        episode = bfcl.open(task)
        before = episode.state()
        assert episode.step(ask.format(date=date)).steps[0].error is None
        states |= {before, episode.state()}
    assert len(states) == 1


def test_episodes_in_threads_do_not_disturb_each_other(bfcl: Bfcl) -> None:
    tasks = bfcl.tasks("all")[::8]
    scores: dict[int, list[float]] = {}

    def work(number: int) -> None:
        order = tasks if number % 2 else tuple(reversed(tasks))
        scores[number] = [play(bfcl, task, bfcl.script(task.solution)) for task in order]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert scores == {number: [1.0] * len(tasks) for number in range(6)}


def test_a_task_of_another_release_or_class_is_named(bfcl: Bfcl) -> None:
    task = bfcl.tasks("all")[0]
    with pytest.raises(UserError, match="release"):
        bfcl.open(attrs.evolve(task, payload={**task.payload, "release": "1.0"}))
    with pytest.raises(UserError, match="did you mean 'MathAPI'"):
        bfcl.open(attrs.evolve(task, payload={**task.payload, "involved_classes": ["MatAPI"]}))


WRITTEN = {
    '{"name": 5, "arguments": {}}': 0.0,
    '{"name": null, "arguments": {}}': 0.0,
    '{"function": "ls", "name": "ls", "arguments": {}}': 0.0,
    '{"arguments": {}}': 1.0,
    '{"name": "ls"}': 1.0,
    "[1]": 1.0,
    '"ls"': 1.0,
}
"""JSON that the official handler cannot write into its next prompt, where the whole entry then fails; and the score of an episode whose
last answer it is: 0 where the calls are executed, because an answer follows, 1 where it ends the last turn."""


@pytest.mark.parametrize("part", WRITTEN)
def test_a_call_that_cannot_be_written_into_the_next_prompt_fails_the_entry(part: str, make: Callable[..., Bfcl]) -> None:
    bfcl = make(mode="fc")
    task = bfcl.tasks("all")[0]
    answer = f"<tool_call>\n{part}\n</tool_call>"
    for thought in ("", "<think>\n{}\n</think>\n"):
        text = thought.format(answer) + "Done." if thought else answer
        with bfcl.open(task) as episode:
            seen = episode.step(text)
            assert seen.done and "cannot" not in str(seen.fault) and "a text as name" in str(seen.fault)
            assert (episode.score(), episode.official_score()) == (0.0, 0.0)
    solution = bfcl.script(task.solution)
    with bfcl.open(task) as episode:  # where it ends the last turn, nothing follows that could raise: the entry is scored as it stands
        for text in solution[:-1]:
            episode.step(text)
        seen = episode.step(answer)
        assert seen.done and episode.score() == WRITTEN[part]
    early = make(mode="fc", release="2025.7.17")  # which writes no calls into its prompts
    with early.open(early.tasks("all")[0]) as episode:
        assert not episode.step(answer).done
