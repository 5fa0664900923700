/** A blue or DAA score, or a time, of a node's answer: undefined for what is no whole number that can be counted with. */
export function scoreOf(value: unknown): number | undefined {
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (!isNumber && !(typeof value === 'string' && /^\d{1,16}$/.test(value))) return undefined
  const score = Number(value)
  return Number.isSafeInteger(score) && score >= 0 ? score : undefined
}
