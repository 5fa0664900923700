/** Random choices from an injected source of numbers in [0, 1). */

export function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)]
}

/** A random multiple of a step in [fromMs, toMs - lengthMs]; undefined where none fits. */
export function pickStart(
  range: { readonly fromMs: number; readonly toMs: number },
  lengthMs: number,
  stepMs: number,
  random: () => number,
): number | undefined {
  const first = Math.ceil(range.fromMs / stepMs)
  const last = Math.floor((range.toMs - lengthMs) / stepMs)
  if (last < first) return undefined
  return (first + Math.floor(random() * (last - first + 1))) * stepMs
}
