/** Formats integers in units of 10^-decimals as decimal text, without floating point. */

/** Exactly `shown` decimals (at least `decimals`): 8343440 of 2 decimals, shown 8 → 83434.40000000. */
export function fixed(units: number, decimals: number, shown: number): string {
  if (shown === 0) return String(units)
  if (units < 0) return `-${fixed(-units, decimals, shown)}`
  if (decimals === 0) return `${units}.${'0'.repeat(shown)}`
  const scale = 10 ** decimals
  const whole = Math.floor(units / scale)
  return `${whole}.${String(units - whole * scale).padStart(decimals, '0')}${'0'.repeat(shown - decimals)}`
}

/** The same for sums that do not fit into a double. */
export function fixedBig(units: bigint, decimals: number, shown: number): string {
  if (units <= 9_007_199_254_740_991n) return fixed(Number(units), decimals, shown)
  const digits = units.toString()
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}${'0'.repeat(shown - decimals)}`
}

/** Shortest form with at least one decimal, as the perpetual venue writes numbers: 84143.0, 0.00036. */
export function short(units: number, decimals: number): string {
  return trimmed(fixed(units, decimals, Math.max(1, decimals)))
}

export function shortBig(units: bigint, decimals: number): string {
  return trimmed(fixedBig(units, decimals, Math.max(1, decimals)))
}

function trimmed(text: string): string {
  let end = text.length
  while (text[end - 1] === '0' && text[end - 2] !== '.') end--
  return end === text.length ? text : text.slice(0, end)
}
