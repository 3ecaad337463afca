"""Which job a worker takes next."""

import random

from markbook.sandbox import Job
from markbook.sandbox.scheduler import JobQueue, QueuedJob, SampleJobs
from markbook.types import Sample


def entry(task, number, *, seconds=0.0, weight=0, model=""):
    job = Job(f"{task} {number}", "", Sample(id=task), model=model)
    return QueuedJob((weight, -seconds, number), job, SampleJobs("", task, ""))


def taken(waiting, *workers):
    return [waiting.pop(worker).job.key for worker in workers]


def test_the_longest_comes_first_and_what_imports_little_before_it():
    waiting = JobQueue()
    for one in (entry("a", 1, weight=1, seconds=9), entry("b", 2, seconds=1), entry("c", 3, seconds=2), entry("d", 4)):
        waiting.push(one)

    assert waiting.least_weight() == 0
    assert taken(waiting, 0, 0, 0, 0) == ["c 3", "b 2", "d 4", "a 1"]
    assert len(waiting) == 0


def test_a_worker_keeps_to_the_samples_that_it_has_begun():
    waiting = JobQueue()
    for number in range(3):
        waiting.push(entry("a", number))
        waiting.push(entry("b", 10 + number))

    assert taken(waiting, 0, 1, 0, 1, 0, 1) == ["a 0", "b 10", "a 1", "b 11", "a 2", "b 12"]


def test_a_worker_without_work_of_its_own_takes_over_another_s():
    waiting = JobQueue()
    for number in range(4):
        waiting.push(entry("a", number))

    assert taken(waiting, 0, 1, 0, 1) == ["a 0", "a 1", "a 2", "a 3"]


def test_what_a_worker_calibrated_it_goes_on_with():
    waiting = JobQueue()
    waiting.push(entry("a", 0, weight=-1))
    waiting.push(entry("b", 1, weight=-1))
    assert taken(waiting, 0, 1) == ["a 0", "b 1"]
    for name, number in (("b", 2), ("a", 3)):
        waiting.push(entry(name, number))

    assert taken(waiting, 0, 1) == ["a 3", "b 2"]


def test_nothing_is_lost_or_taken_twice():
    chance = random.Random(5)
    waiting, inside, out = JobQueue(), set(), []
    for number in range(3000):
        if inside and chance.random() < 0.45:
            key = waiting.pop(chance.randrange(4)).job.key
            inside.remove(key)
            out.append(key)
        else:
            one = entry(f"t{chance.randrange(40)}", number, seconds=chance.random(), weight=chance.randrange(-1, 4))
            waiting.push(one)
            inside.add(one.job.key)
        assert len(waiting) == len(inside)
    out += [waiting.pop(0).job.key for _ in range(len(waiting))]

    assert len(out) == len(set(out))
    assert waiting.pop(0) is None


def test_a_worker_stays_with_one_sample_and_model_until_nothing_is_left_of_them():
    waiting = JobQueue()
    for number in range(6):
        waiting.push(entry("ab"[number % 2], number, seconds=number, model="mn"[number // 2 % 2]))

    assert taken(waiting, *[0] * 6) == ["b 5", "b 1", "a 4", "a 0", "b 3", "a 2"]


def test_a_worker_that_is_to_stay_gets_nothing_of_others():
    waiting = JobQueue()
    for number in range(3):
        waiting.push(entry("a", number, model="mn"[number // 2]))

    assert waiting.pop(0, stays=True) is None
    assert [waiting.pop(0).job.key, waiting.pop(0, stays=True).job.key] == ["a 0", "a 1"]
    assert waiting.pop(0, stays=True) is None
    assert waiting.pop(0).job.key == "a 2"
