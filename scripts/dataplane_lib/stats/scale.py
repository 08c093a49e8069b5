# SPDX-License-Identifier: GPL-2.0-only
"""A simulation of queues, iothreads and CPUs: how many I/Os a second a device can do, and what limits it.

Time is in ns. Every driver owns one queue and keeps its depth of requests in flight; every queue belongs to one iothread, which
takes what its queues hold, a queue after the other. Drivers and iothreads are threads that share the CPUs: a thread without a
CPU waits for one in turn, and gives it up when its time slice ends while others wait, when it sleeps, or when it would poll
although others wait. What a thread publishes is seen by another one half a cache-line round trip later.
"""

import heapq
from dataclasses import dataclass
from itertools import count

# A time slice of the scheduler, Linux's base slice.
SLICE = 3e6
# Requests that a thread handles before it publishes: fio's batch of the study, and a turn of an iothread's queue.
BATCH = 32


@dataclass(frozen=True)
class Costs:
    """What one host's requests cost, in ns: CPU of the driver and of the device a request, a cache-line round trip, and
    what waking a thread takes: CPU of the waker (an eventfd write), and from then until the sleeper runs, on a CPU that does
    nothing else meanwhile. So much is lost, too, when a CPU goes from one thread to another."""
    driver: float
    device: float
    rtt: float
    notify: float = 1000.0
    wakeup: float = 5000.0


@dataclass(frozen=True)
class Shape:
    """What is built: QUEUES with DEPTH requests in flight each, IOTHREADS that serve them round robin, CPUS for both sides;
    SERVICE is a request's time in the device (ns), IOPS the device's ceiling (0 for none), MERGE how many requests of the
    driver become one of the device; threads with nothing to do poll or sleep."""
    queues: int
    iothreads: int
    depth: int
    cpus: int
    service: float = 0.0
    iops: float = 0.0
    merge: int = 1
    driver_polls: bool = True
    device_polls: bool = True


@dataclass(frozen=True)
class Outcome:
    """IOPS, and the share of time in which the busiest driver and iothread did useful work, and the CPUs that or went from thread to thread (1.0 is all of it)."""
    iops: float
    driver_busy: float
    device_busy: float
    cpu_busy: float
    ceiling_busy: float

    def limit(self):
        """The resource that limits the rate, in words."""
        if self.ceiling_busy > 0.97:
            return "device ceiling"
        if self.cpu_busy > 0.95:
            return "CPUs"
        if self.device_busy > 0.93:
            return "iothreads"
        if self.driver_busy > 0.93:
            return "drivers"
        return "latency"


class _Thread:
    """A driver or an iothread. inbox: heap of (when it is visible, how many requests, queue)."""

    def __init__(self, polls, drives):
        self.polls, self.drives, self.inbox = polls, drives, []
        self.state, self.busy, self.slice_end = "asleep", 0.0, 0.0

    def sees_work(self, now):
        """True if something in the inbox is visible."""
        return bool(self.inbox) and self.inbox[0][0] <= now

    def take(self, now):
        """(how many, queue) of what is visible of one queue, up to BATCH."""
        requests, queue = 0, self.inbox[0][2]
        while requests < BATCH and self.sees_work(now) and self.inbox[0][2] == queue:
            when, more, _ = heapq.heappop(self.inbox)
            left = max(0, requests + more - BATCH)
            if left:
                heapq.heappush(self.inbox, (when, left, queue))
            requests += more - left
        return requests, queue


class _Host:
    """The CPUs: who runs, who waits for one, and the calendar of events."""

    def __init__(self, cpus, costs, work):
        self.free, self.waiting, self.calendar, self.costs, self.work = cpus, [], [], costs, work
        self.order, self.now, self.switching = count(), 0.0, 0.0

    def at(self, when, what, *args):
        heapq.heappush(self.calendar, (when, next(self.order), what, args))

    def wake(self, thread, late=0.0):
        """THREAD wants a CPU from now on, and is ready LATE ns after it has one."""
        if not self.free:
            self._displace()
        if not self.free:
            thread.state = "waiting"
            self.waiting.append(thread)
            return
        self.free -= 1
        thread.state = "working"
        thread.slice_end = self.now + SLICE
        self.at(self.now + late, self.go_on, thread)

    def _displace(self):
        """Take the CPU of a thread that only polls: it would yield to who waits."""
        idle = next((t for t in self.threads if t.state == "polling"), None)
        if idle:
            self._yield(idle)

    def go_on(self, thread):
        """THREAD has a CPU and does its next piece of work, or polls, or gives the CPU up."""
        if self.waiting and self.now >= thread.slice_end:
            self._yield(thread)
            self.hand_out()
        elif thread.sees_work(self.now):
            thread.state = "working"
            cost = self.work(thread, self.now)
            thread.busy += cost
            self.at(self.now + cost, self.go_on, thread)
        elif thread.polls and not any(t.sees_work(self.now) for t in self.waiting):
            thread.state = "polling"
        else:
            if thread.polls:
                self._yield(thread)
            else:
                thread.state = "asleep"
                self.free += 1
            self.hand_out()

    def _yield(self, thread):
        thread.state = "waiting"
        self.waiting.append(thread)
        self.free += 1

    def hand_out(self):
        """Give free CPUs to the threads that wait and have work, in turn."""
        while self.free:
            ready = next((t for t in self.waiting if t.sees_work(self.now)), None)
            if ready is None:
                return
            self.waiting.remove(ready)
            self.switching += self.costs.wakeup
            self.wake(ready, self.costs.wakeup)

    def deliver(self, thread, when, requests, queue):
        """Requests become visible to THREAD at WHEN; returns True if it sleeps and must be notified."""
        heapq.heappush(thread.inbox, (when, requests, queue))
        self.at(when, self._look, thread)
        return thread.state == "asleep"

    def _look(self, thread):
        """Something has become visible to THREAD."""
        if thread.state == "polling":
            self.go_on(thread)
        elif thread.state == "waiting":
            self._displace()
            self.hand_out()
        elif thread.state == "asleep":
            thread.state = "woken"
            self.at(self.now + self.costs.wakeup, self.wake, thread)

    def run(self, until):
        """Work through the calendar as long as UNTIL() is False."""
        while self.calendar and not until():
            self.now, _, what, args = heapq.heappop(self.calendar)
            what(*args)


class _Simulation:
    """One run of a Shape at Costs."""

    def __init__(self, shape, costs):
        self.shape, self.costs = shape, costs
        self.drivers = [_Thread(shape.driver_polls, True) for _ in range(shape.queues)]
        self.devices = [_Thread(shape.device_polls, False) for _ in range(shape.iothreads)]
        self.host = _Host(shape.cpus, costs, self._work)
        self.host.threads = [*self.devices, *self.drivers]
        self.done, self.next_free, self.ceiling_time = 0, 0.0, 0.0

    def _work(self, thread, now):
        """What THREAD does next; returns how much CPU it takes. The effects are seen after that."""
        requests, queue = thread.take(now)
        if thread.drives:
            self.done += requests
            cost = requests * self.costs.driver
            other, seen = self.devices[queue % self.shape.iothreads], [(now + cost, requests)]
        else:
            cost = requests * self.costs.device / self.shape.merge
            other, seen = self.drivers[queue], self._service(now + cost, requests)
        notify = [self.host.deliver(other, when + self.costs.rtt / 2, n, queue) for when, n in seen]
        return cost + (self.costs.notify if notify[0] else 0.0)

    def _service(self, now, requests):
        """[(when, how many)] of so many requests, by the device's service time and ceiling."""
        if not self.shape.iops:
            return [(now + self.shape.service, requests)]
        out, each = [], 1e9 / self.shape.iops / self.shape.merge
        for _ in range(requests):
            self.next_free = max(self.next_free, now) + each
            self.ceiling_time += each
            out.append((max(now + self.shape.service, self.next_free), 1))
        return out

    def outcome(self, requests):
        """Run until so many REQUESTS are done, the first fifth of which does not count."""
        for queue, driver in enumerate(self.drivers):
            self.host.deliver(driver, 0.0, self.shape.depth, queue)
        self.host.run(lambda: self.done >= requests / 5)
        start, done = self.host.now, self.done
        before = [t.busy for t in self.host.threads]
        ceiling, switching = self.ceiling_time, self.host.switching
        self.host.run(lambda: self.done >= requests)
        took = max(self.host.now - start, 1e-9)
        busy = [t.busy - b for t, b in zip(self.host.threads, before)]
        n = self.shape.iothreads
        return Outcome(1e9 * (self.done - done) / took, max(busy[n:]) / took, max(busy[:n]) / took,
                       (sum(busy) + self.host.switching - switching) / took / self.shape.cpus, (self.ceiling_time - ceiling) / took)


def predict(shape, costs, requests=20000):
    """The Outcome of SHAPE with what requests cost on a host, from a simulation of so many REQUESTS."""
    least = 50 * shape.queues * shape.depth
    return _Simulation(shape, costs).outcome(max(requests, least))
