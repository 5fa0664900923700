import { type Clock, elapsedMs, runAfter } from './clock.ts'

/**
 * Parts register how they stop. On a signal they stop in reverse order of registration, each within the remaining time;
 * a part that fails or hangs does not prevent the others from stopping.
 */
export interface Shutdown {
  add(name: string, stop: () => Promise<void> | void): void
  run(deadlineMs: number): Promise<ShutdownReport>
}

export interface ShutdownReport {
  clean: boolean
  failures: { name: string; reason: string }[]
}

export function createShutdown(clock: Clock): Shutdown {
  const parts: { name: string; stop: () => Promise<void> | void }[] = []
  let running: Promise<ShutdownReport> | undefined

  async function stopAll(deadlineMs: number): Promise<ShutdownReport> {
    const endsAt = elapsedMs(clock) + deadlineMs
    const failures: ShutdownReport['failures'] = []
    for (const part of parts.toReversed()) {
      const leftMs = Math.max(0, endsAt - elapsedMs(clock))
      const failure = await stopWithin(clock, part.stop, leftMs)
      if (failure !== undefined) failures.push({ name: part.name, reason: failure })
    }
    return { clean: failures.length === 0, failures }
  }

  return {
    add: (name, stop) => void parts.push({ name, stop }),
    run: (deadlineMs) => {
      running ??= stopAll(deadlineMs)
      return running
    },
  }
}

async function stopWithin(
  clock: Clock,
  stop: () => Promise<void> | void,
  limitMs: number,
): Promise<string | undefined> {
  let cancel = () => {}
  const timeout = new Promise<string>((resolve) => {
    cancel = runAfter(clock, limitMs, () => resolve(`did not stop within ${Math.round(limitMs)} ms`))
  })
  try {
    return await Promise.race([Promise.resolve(stop()).then(() => undefined), timeout])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    cancel()
  }
}
