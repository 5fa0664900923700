/** How the venue writes numbers and times. */

const PRICES = Array.from({ length: 1_001 }, (_, i) => String(i / 1_000))

/** Thousandths as the shortest decimal: 500 → "0.5". */
export const priceText = (thousandths: number): string => PRICES[thousandths] as string

/** Hundredths as the shortest decimal: 1446829 → "14468.29", 38200 → "382". */
export const sizeText = (hundredths: number): string => String(hundredths / 100)

export const isoSeconds = (timeMs: number): string => new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z')

/** With six decimals, as the catalogue's database prints times. */
export const isoMicros = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace('Z', `${String((timeMs * 7) % 1_000).padStart(3, '0')}Z`)

/** `2026-07-24 00:00:16+00`, not ISO. */
export const postgresTime = (timeMs: number): string =>
  isoSeconds(timeMs).replace('T', ' ').replace('Z', '+00')
