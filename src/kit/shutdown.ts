/**
 * Parts register how they stop. On a signal they stop in reverse order of their start, each within the remaining
 * time; a part that fails or hangs does not prevent the others from stopping.
 */
export interface Shutdown {
  add(name: string, stop: () => Promise<void> | void): void
  run(deadlineMs: number): Promise<ShutdownReport>
}

export interface ShutdownReport {
  clean: boolean
  failures: { name: string; reason: string }[]
}

export function createShutdown(): Shutdown {
  const parts: { name: string; stop: () => Promise<void> | void }[] = []
  let running: Promise<ShutdownReport> | undefined

  async function stopAll(deadlineMs: number): Promise<ShutdownReport> {
    const endsAt = performance.now() + deadlineMs
    const failures: ShutdownReport['failures'] = []
    for (const part of parts.toReversed()) {
      const leftMs = Math.max(0, endsAt - performance.now())
      const failure = await stopWithin(part.stop, leftMs)
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

async function stopWithin(stop: () => Promise<void> | void, limitMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`did not stop within ${Math.round(limitMs)} ms`), limitMs)
  })
  try {
    return await Promise.race([Promise.resolve(stop()).then(() => undefined), timeout])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    clearTimeout(timer)
  }
}
