/** The longest pause between two looks: a look may ask a service or a store, which costs more than it waits for. */
const MAX_PAUSE_MS = 100

/**
 * Waits until it holds. It looks again after 10 ms, and less often the longer it has waited. The limit only ends a test
 * that hangs, unless the caller sets one that is part of the guarantee.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const startedAt = performance.now()
  while (!(await holds())) {
    const waitedMs = performance.now() - startedAt
    if (waitedMs > limitMs) throw new Error(`waited ${limitMs} ms for: ${what}`)
    const pauseMs = Math.min(Math.max(10, waitedMs / 16), MAX_PAUSE_MS)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
