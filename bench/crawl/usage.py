"""What a process and its children use: CPU time and memory, looked at again and again while they run."""

from dataclasses import dataclass, field

import psutil


@dataclass
class Usage:
    """CPU seconds, user and system, and peak memory in bytes, of a process with all its children.

    Memory is the proportional set size (PSS): a page of memory that several processes share counts once.
    """

    pid: int
    cpu: float = 0.0
    memory: int = 0
    _ended: dict[int, float] = field(default_factory=dict)

    def look(self, *, memory: bool) -> None:
        """Look once; ``memory`` says whether at the memory too, which takes longer."""
        total = 0
        for process in self._processes():
            try:
                times = process.cpu_times()
                self._ended[process.pid] = times.user + times.system
                if memory:
                    total += process.memory_full_info().pss
            except psutil.Error:
                continue  # it has just ended: what it used until then was noted
        self.cpu = sum(self._ended.values())
        self.memory = max(self.memory, total)

    def _processes(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.Error:
            return []
