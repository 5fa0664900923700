/** Lets many wait for "something changed" without keeping a listener each. */
export function createChangeSignal() {
  const waiting = new Set<() => void>()
  return {
    notify(): void {
      for (const wake of [...waiting]) wake()
    },
    /** Resolves at the next change or with the signal, whichever comes first; never rejects. */
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
