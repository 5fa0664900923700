/** Lets many callers wait for the next change without registering a permanent listener each. */
export function createChangeSignal() {
  const waiting = new Set<() => void>()
  return {
    notify(): void {
      for (const wake of [...waiting]) wake()
    },
    /** Resolves at the next change or when the signal aborts, whichever comes first. Never rejects. */
    next: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
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
