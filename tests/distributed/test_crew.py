"""What the crew of a cluster does when workers die, nodes go and tasks come: with a Ray that is played."""

from itertools import count
from types import SimpleNamespace

import pytest

from gfscore.engines.ray_crew import FRUITLESS, Crew, Inbox, Nodes, Order
from gfscore.engines.workers import Answer


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class PlayedRay:
    """Workers that answer when they are waited for; ``fate`` says what becomes of the n-th call of each kind."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, cpus=(1, 1), fate=None):
        self.cpus, self.fate = list(cpus), fate or (lambda kind, number: None)
        self.hired, self.killed, self._numbers = 0, 0, count()
        self._calls = {"ready": count(), "answer": count()}
        self._said = {}

    def nodes(self):
        return [{"NodeID": str(n), "Alive": cpus > 0, "Resources": {"CPU": cpus}} for n, cpus in enumerate(self.cpus)]

    def put(self, value):
        return value

    def remote(self, **_how):
        return lambda _kind: SimpleNamespace(remote=self._hire)

    def _hire(self, _work):
        self.hired += 1
        ready = SimpleNamespace(remote=lambda: self._call("ready", True))
        return SimpleNamespace(ready=ready, answer=SimpleNamespace(remote=lambda *said: self._call("answer", said)))

    def _call(self, kind, value):
        reference = next(self._numbers)
        self._said[reference] = self.fate(kind, next(self._calls[kind])) or value
        return reference

    def wait(self, references, num_returns, timeout):
        return references[-num_returns:], references[:-num_returns]  # those that start first

    def get(self, reference):
        said = self._said[reference]
        if isinstance(said, Exception):
            raise said
        return said if said is True else Answer(content=f"{said[1]}".encode())

    def kill(self, _worker):
        self.killed += 1


class EndedError(Exception):
    pass


class Heard:
    """What the crew says."""

    def __init__(self, inbox, n_tasks):
        self.answers, self.news, self._inbox, self._left = {}, [], inbox, n_tasks

    def send(self, head, content=b""):
        if "task" not in head:
            self.news.append(head)
            return
        assert head["task"] not in self.answers
        self.answers[head["task"]] = content
        if len(self.answers) == self._left:
            self._inbox.put(({"end": True}, b""))

    def end(self, how, why=""):
        raise EndedError(f"{how}: {why}")


def served(ray, n_tasks=5, workers=None):
    """What comes of some tasks."""
    order = Order(address="auto", workers=workers, threads=1, gpus_per_actor=0.0, work={})
    nodes, inbox = Nodes(ray, order), Inbox()
    nodes.look()
    inbox.put(({"job": 7, "says": {}}, b""))
    for number in range(n_tasks):
        inbox.put(({"task": number, "job": 7, "rows": {"start": number, "stop": number + 1}}, b""))
    heard = Heard(inbox, n_tasks)
    Crew(ray, order, nodes, heard).serve(inbox)
    return heard


def test_every_task_is_answered_once_by_as_many_workers_as_find_room():
    ray = PlayedRay(cpus=(1, 2))
    heard = served(ray)
    assert heard.answers == {number: str(number).encode() for number in range(5)}
    assert ray.hired == 3
    assert heard.news[-1] == {"workers": 3, "room": 3, "lost": 0}


@pytest.mark.parametrize(("workers", "n_tasks", "hired"), [(1, 5, 1), (9, 2, 2), (None, 1, 1)])
def test_no_more_workers_are_hired_than_are_asked_for_and_have_work(workers, n_tasks, hired):
    ray = PlayedRay(cpus=(4,))
    served(ray, n_tasks, workers)
    assert ray.hired == hired


def test_the_task_of_a_worker_that_died_is_done_by_another():
    ray = PlayedRay(fate=lambda kind, number: RayError("it died") if (kind, number) == ("answer", 1) else None)
    heard = served(ray)
    assert sorted(heard.answers) == list(range(5))
    assert (ray.hired, ray.killed) == (3, 1)


def test_an_error_of_our_own_is_not_tried_again():
    ray = PlayedRay(fate=lambda kind, _number: RayTaskError("a bug") if kind == "answer" else None)
    with pytest.raises(RayTaskError):
        served(ray)


def test_workers_that_never_start_are_not_hired_for_ever():
    ray = PlayedRay(fate=lambda kind, _number: RayError("no gfscore there") if kind == "ready" else None)
    with pytest.raises(EndedError, match="failed: workers do not start: RayError: no gfscore there"):
        served(ray)
    assert ray.hired <= FRUITLESS + 2


def test_a_lost_node_is_counted_and_what_finds_no_room_is_given_up():
    order = Order(address="auto", workers=None, threads=1, gpus_per_actor=0.0, work={})
    ray = PlayedRay(cpus=(1, 1))
    nodes, heard = Nodes(ray, order), Heard(Inbox(), 9)
    nodes.look()
    crew = Crew(ray, order, nodes, heard)
    for number in range(4):
        crew.waiting.append(SimpleNamespace(number=number))
    crew._hire()
    assert len(crew.starting) == 2
    ray.cpus[1] = 0
    nodes.look()
    crew._hire()
    assert (nodes.room, nodes.lost, len(crew.starting), ray.killed) == (1, 1, 1, 1)
    crew._report()
    assert heard.news == [{"workers": 0, "room": 1, "lost": 1}]
