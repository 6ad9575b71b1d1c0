"""A stockroom that knows what its users want, for tests of synthesizers."""

import random
from collections.abc import Sequence

from coevolve import Action, Goal, Task
from coevolve.testing import Stockroom
from coevolve.testing.stockroom import World


class Wishes(Stockroom):
    """A stockroom whose users want two kinds of things, and one that fails."""

    def goals(self, start: Task, seed: int, count: int, after: Sequence[Action] = ()) -> list[Goal]:
        world, rng = World.fresh(start.payload["world"]), random.Random(seed)
        person, item = rng.choice(list(world.people)), rng.choice(list(world.items))
        badge, code = world.people[person]["badge"], world.items[item]["code"]
        amount, day = rng.randrange(1, 10), rng.randrange(1, 1000)
        made = [
            Goal("broken", f"Let nobody in, on day {day}.", (Action("door.admit", {"badge": 3}),)),
            Goal(
                "admit",
                f"{person} is at the door on day {day}. Let the poor soul in.",
                (Action("staff.find", {"person": person, "as": "badge"}), Action("door.admit", {"badge": badge})),
            ),
            Goal(
                "restock",
                f"On day {day} we got {amount} more of the {item}. Put them on the books.",
                (Action("catalog.find", {"item": item, "as": "code"}), Action("stock.add", {"code": code, "amount": amount})),
            ),
        ]
        return made[:count] if count < 2 else [made[0], *rng.sample(made[1:], 2)][: count + 1]
