/** Law 5: after the faults the number of timers, sockets and open requests returns to what it was before them. */

type Counts = Readonly<Record<string, number>>

/** What comes and goes in normal work. */
const SLACK = 12

export function createLeakWatch(read: () => Counts) {
  /** The largest of the time before the first fault. */
  const base = new Map<string, number>()
  return {
    /** The more samples, the better the base is known. */
    sampleBase() {
      for (const [name, count] of Object.entries(read())) base.set(name, Math.max(base.get(name) ?? 0, count))
    },
    judge: (): string[] =>
      Object.entries(read())
        .filter(([name, count]) => base.has(name) && count > (base.get(name) ?? 0) + SLACK)
        .map(
          ([name, count]) =>
            `5 ${count} ${name} are left; before the faults there were at most ${base.get(name)}`,
        ),
  }
}
