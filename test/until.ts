/**
 * Waits until a condition holds. The limit only ends a test that hangs, unless the caller sets one that is part of the
 * guarantee. Pass a longer pause if evaluating the condition is expensive, as with a request to a service or a store.
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 60_000,
  pauseMs = 10,
): Promise<void> {
  const endsAt = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`waited ${limitMs} ms for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
