/** How numbers and times are shown. */
const whole = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export const count = (value: number) => whole.format(value)
export const compact = (value: number) => short.format(value)
/** With a decimal where there is one. */
export const percent = (share: number) => `${Math.round(share * 1000) / 10}%`

export function dateTime(text: string | null): string {
  if (text === null) return '–'
  return new Date(text).toISOString().slice(0, 16).replace('T', ' ')
}

export function day(text: string): string {
  return new Date(text).toLocaleDateString('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' })
}

export function ago(text: string | null, nowMs = Date.now()): string {
  if (text === null) return 'never'
  const seconds = Math.round((nowMs - Date.parse(text)) / 1000)
  if (seconds < 0) return dateTime(text)
  if (seconds < 5) return 'just now'
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h ago`
  return `${Math.round(seconds / 86_400)} days ago`
}

export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** How long until then. */
export function ahead(text: string, nowMs = Date.now()): string {
  const seconds = Math.round((Date.parse(text) - nowMs) / 1000)
  return seconds <= 1 ? 'now' : `in ${duration(seconds)}`
}

/** Hours and minutes of a time of today, the date with it otherwise. */
export function time(text: string | null): string {
  const full = dateTime(text)
  return full.slice(0, 10) === new Date().toISOString().slice(0, 10) ? full.slice(11) : full.slice(5)
}

const DIGITS = 6
const MOST_DECIMALS = 8

/** Decimals that a price is written with: what it has, as far as they matter for its size. */
export function decimalsOf(value: number): number {
  const size = Math.floor(Math.log10(Math.abs(value) || 1))
  const sensible = Math.min(MOST_DECIMALS, Math.max(2, DIGITS - size))
  const text = value.toFixed(sensible).replace(/0+$/, '')
  return text.length - text.indexOf('.') - 1
}

export function price(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: decimalsOf(value) })
}

export function bytes(value: number): string {
  return value < 1_024 ? `${value} B` : `${(value / 1_024).toFixed(1)} KiB`
}
