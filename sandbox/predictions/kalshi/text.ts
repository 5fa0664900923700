/** How the venue writes numbers and times. */

/** Thousandths of a dollar, four decimals. */
export const dollars = (thousandths: number): string => (thousandths / 1_000).toFixed(4)
/** Hundredths of a contract, two decimals. */
export const contracts = (hundredths: number): string => (hundredths / 100).toFixed(2)
export const iso = (timeMs: number): string => new Date(timeMs).toISOString().replace('.000Z', 'Z')
/** Microseconds, as trades and deltas have them. */
export const isoMicros = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace('Z', `${String((timeMs * 13) % 1_000).padStart(3, '0')}Z`)
