/** Accepted times: ISO 8601 with a zone, a date alone (midnight UTC), epoch seconds or milliseconds. */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|z|[+-]\d{2}(?::?\d{2})?|(?<=\s)\d{2}:?\d{2}))?$/
const EPOCH = /^(0|[1-9]\d{8,13})$/
const MAX_EPOCH_SECONDS = 11
const OWN_LENGTH = '2026-03-14T04:00:00.000Z'.length

/** Milliseconds since the epoch, or undefined for text that is not a time. */
export function parseTime(text: string): number | undefined {
  // Our own form is by far the most frequent one. Formatting the time again proves that it is a real date.
  if (text.length === OWN_LENGTH && text.endsWith('Z')) {
    const time = Date.parse(text)
    if (time >= 0 && formatTime(time) === text) return time
  }
  if (EPOCH.test(text)) {
    return text.length <= MAX_EPOCH_SECONDS ? Number(text) * 1000 : Number(text)
  }
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] = match
  const parts = [year, month, day, hour, minute, second].map(Number)
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = parts
  if (h > 23 || mi > 59 || s > 59) return undefined
  const utc = Date.UTC(y, mo - 1, d, h, mi, s, Number(fraction.padEnd(3, '0').slice(0, 3)))
  // Date.UTC rolls 30 February over into March and reads the year 50 as 1950; such a date is refused.
  const date = new Date(utc)
  if (date.getUTCFullYear() !== y || date.getUTCMonth() !== mo - 1 || date.getUTCDate() !== d)
    return undefined
  const offset = offsetMinutes(zone)
  return offset === undefined ? undefined : utc - offset * 60_000
}

function offsetMinutes(zone: string): number | undefined {
  if (zone === 'Z' || zone === 'z') return 0
  // A `+` that was not percent-encoded arrives as a space, so an offset after a space is positive.
  const sign = zone.startsWith('-') ? -1 : 1
  const digits = zone.replace(/[^\d]/g, '')
  const hours = Number(digits.slice(0, 2))
  const minutes = Number(digits.slice(2))
  return hours > 14 || minutes > 59 ? undefined : sign * (hours * 60 + minutes)
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, '0'))
/** A request covers only a few days, so their texts are cached, indexed by day number. */
const KEPT_DAYS = 64
const keptDays = new Float64Array(KEPT_DAYS).fill(Number.NaN)
const keptDates: string[] = new Array(KEPT_DAYS).fill('')

function dateOf(day: number): string {
  const place = ((day % KEPT_DAYS) + KEPT_DAYS) % KEPT_DAYS
  const kept = keptDates[place]
  if (keptDays[place] === day && kept !== undefined) return kept
  const date = new Date(day * DAY_MS).toISOString().slice(0, -13)
  keptDays[place] = day
  keptDates[place] = date
  return date
}

let lastDay = Number.NaN
let lastDate = ''

/**
 * The form of all times that are served: `2026-03-14T04:00:00.000Z`. Consecutive rows are mostly of the same day, so
 * the last date is reused.
 */
export function formatTime(timeMs: number): string {
  const whole = Math.floor(timeMs)
  const day = Math.floor(whole / DAY_MS)
  if (day !== lastDay) {
    lastDate = dateOf(day)
    lastDay = day
  }
  const ofDay = whole - day * DAY_MS
  const ms = ofDay % 1000
  const seconds = (ofDay - ms) / 1000
  const second = seconds % 60
  const minutes = (seconds - second) / 60
  const minute = minutes % 60
  const hour = (minutes - minute) / 60
  const msText = ms === 0 ? '000' : ms < 10 ? `00${ms}` : ms < 100 ? `0${ms}` : `${ms}`
  return `${lastDate}${TWO_DIGITS[hour]}:${TWO_DIGITS[minute]}:${TWO_DIGITS[second]}.${msText}Z`
}

export const DAY_MS = 86_400_000
