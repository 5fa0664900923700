/** Waits until it holds. The limit only ends a test that hangs, unless the caller sets one that is part of the guarantee. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const endsAt = performance.now() + limitMs
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`waited ${limitMs} ms for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
