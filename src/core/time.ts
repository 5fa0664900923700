/** Times in: ISO 8601 with a zone, a date alone (midnight UTC), epoch seconds or milliseconds. */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}(?::?\d{2})?|(?<=\s)\d{2}:?\d{2}))?$/
const EPOCH = /^(0|\d{9,14})$/
const LONGEST_EPOCH_SECONDS = 11

/** Milliseconds since the epoch, or undefined for text that is not a time. */
export function parseTime(text: string): number | undefined {
  if (EPOCH.test(text)) {
    return text.length <= LONGEST_EPOCH_SECONDS ? Number(text) * 1000 : Number(text)
  }
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match
  const parts = [year, month, day, hour, minute, second].map(Number)
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = parts
  if (h > 23 || mi > 59 || s > 59) return undefined
  const utc = Date.UTC(y, mo - 1, d, h, mi, s, Number(fraction.padEnd(3, '0').slice(0, 3)))
  // Date.UTC rolls 30 February over into March, and takes the year 50 for 1950; such dates are refused.
  const date = new Date(utc)
  if (date.getUTCFullYear() !== y || date.getUTCMonth() !== mo - 1 || date.getUTCDate() !== d)
    return undefined
  const offset = offsetMinutes(zone)
  return offset === undefined ? undefined : utc - offset * 60_000
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  // A `+` that was not percent-encoded arrives as a space: what follows is still a positive offset.
  const sign = zone.startsWith('-') ? -1 : 1
  const digits = zone.replace(/[^\d]/g, '')
  const hours = Number(digits.slice(0, 2))
  const minutes = Number(digits.slice(2))
  return hours > 14 || minutes > 59 ? undefined : sign * (hours * 60 + minutes)
}

let lastSecond = Number.NaN
let lastPrefix = ''

/**
 * Times out: `2026-03-14T04:00:00.000Z`. Neighbouring calls mostly fall into the same second, so its text is
 * kept and only the milliseconds are written.
 */
export function formatTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1000)
  if (second !== lastSecond) {
    lastPrefix = new Date(second * 1000).toISOString().slice(0, -4)
    lastSecond = second
  }
  const ms = Math.floor(timeMs - second * 1000)
  return `${lastPrefix}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`
}

export const DAY_MS = 86_400_000
