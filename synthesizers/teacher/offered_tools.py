"""Which tools a task offers: calls of the others would only fail.

Environments differ in how they offer tools. An episode has their schemas, or its first messages describe them, or the agent looks them up
while it works. A group of tools counts as offered when most of its names occur in what the agent reads at first. Where the tools of the
task's own solution do not all count so, the agent must learn of tools in another way, and all count as offered.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Mapping

from coevolve import Episode, Task, Tool


def offered_tools(episode: Episode, task: Task, tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools that the agent has in this task, in the environment's order; `episode` is at the task's beginning."""
    text = "\n".join(str(message.get("content", "")) for message in episode.messages) + json.dumps(episode.tools or [], default=str)
    words = set(re.findall(r"[\w.]+", text))
    groups = defaultdict[str, list[str]](list)
    for tool in tools.values():
        groups[tool.group].append(tool.name)
    named = {group for group, names in groups.items() if _most(names, words)}
    own = {tools[action.name].group for action in task.solution if action.name in tools}
    if not own or not own <= named:
        return dict(tools)
    return {name: tool for name, tool in tools.items() if tool.group in named}


def _most(names: Collection[str], words: Collection[str]) -> bool:
    return 2 * sum(name in words or f"{name}." in words for name in names) > len(names)
