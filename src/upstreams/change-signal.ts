/** Lets many wait for "something changed" without keeping a listener each. */
export interface ChangeSignal {
  notify(): void
  /** Resolves at the next change or with the signal, whichever comes first; never rejects. */
  next(signal: AbortSignal): Promise<void>
}

export function createChangeSignal(): ChangeSignal {
  const waiting = new Set<() => void>()
  return {
    notify() {
      for (const wake of [...waiting]) wake()
    },
    next: (signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake, { once: true })
      }),
  }
}
