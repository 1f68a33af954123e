# SPDX-License-Identifier: Apache-2.0
"""Timing several programs by turns, so that whatever slows the machine for a while slows all of them alike."""
import json
import statistics
import subprocess


class Program:
    """A process that answers a line of JSON to a line of text: round_worker, or a peer."""

    def __init__(self, *command):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.facts = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.command)} ended with status {self.process.wait()}")
        return json.loads(line)

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Samples:
    """Seconds per run of one task, one number per pass. `by_least` describes them by the smallest, not the median: what
    the task takes undisturbed, when others keep the machine busy."""

    by_least = False

    def __init__(self, seconds):
        self.seconds = sorted(seconds) if self.by_least else seconds

    @property
    def time(self):
        return self.least if self.by_least else statistics.median(self.seconds)

    @property
    def least(self):
        return min(self.seconds)

    def spread(self):
        """Half the distance between the quartiles, relative to the time."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / 2 / self.time

    def __add__(self, other):
        return Samples([a + b for a, b in zip(self.seconds, other.seconds)])

    def times(self, factor):
        return Samples([factor * a for a in self.seconds])

    def ratios(self, other):
        """Within each pass."""
        return Samples([a / b for a, b in zip(self.seconds, other.seconds)])

    def over(self, other):
        """The median over passes of the ratio within a pass, or the ratio of the smallest."""
        return self.least / other.least if self.by_least else self.ratios(other).time


class Task:
    """`name` timed by a program, in slices of about `slice_seconds`."""

    def __init__(self, program, name, slice_seconds):
        self.program, self.name, self.count, self.bytes = program, name, 1, 0
        while True:  # also warms up
            seconds = self.run() * self.count
            if seconds > slice_seconds / 3:
                break
            self.count = max(2 * self.count, min(10 * self.count, int(slice_seconds / max(seconds, 1e-9))))
        self.count = max(1, round(self.count * slice_seconds / seconds))

    def run(self):
        answer = self.program.ask(f"time {self.name} {self.count}")
        self.bytes = answer.get("bytes", 0)
        return answer["seconds"] / self.count


def interleave(tasks, passes):
    """Runs all tasks in turn, `passes` times, every second time in reverse; Samples in the order of the tasks."""
    seconds = [[] for _ in tasks]
    for number in range(passes):
        turn = list(zip(tasks, seconds))
        for task, values in reversed(turn) if number % 2 else turn:
            values.append(task.run())
    return [Samples(values) for values in seconds]
