/** A blue score, DAA score or time from a node's answer; undefined unless it is a safe non-negative integer. */
export function scoreOf(value: unknown): number | undefined {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (!isNumber && !(typeof value === 'string' && /^\d{1,16}$/.test(value))) return undefined
  const score = Number(value)
  return Number.isSafeInteger(score) && score >= 0 ? score : undefined
}
