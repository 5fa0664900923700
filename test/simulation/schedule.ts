/**
 * What goes wrong and when, as a plain list that can be printed, repeated and shortened. Faults begin and end more
 * often near the boundaries of minutes and hours than elsewhere, because that is when data is closed. They also overlap
 * or follow each other more often than by chance, so that one meets the state that another left behind.
 */
import type { Random } from './random.ts'

export interface ScheduledFault {
  /** The part that the fault affects: `spot`, `kalshi`, `chain`. */
  readonly part: string
  readonly kind: string
  /** From the start of the simulation. */
  readonly atMs: number
  /** 0: a single event. */
  readonly durationMs: number
  readonly settings: Readonly<Record<string, number | string | boolean>>
}

export interface FaultKind {
  readonly kind: string
  readonly weight: number
  /** The shortest and the longest; both 0 for a single event. */
  readonly durationMs: readonly [shortest: number, longest: number]
  readonly settings?: (random: Random) => ScheduledFault['settings']
}

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
/** The share of faults that begin or end within another fault of their part, or near its beginning or end. */
const MEETING_SHARE = 0.3
const NEAR_MS = 40_000

export function drawSchedule(
  random: Random,
  parts: readonly { readonly name: string; readonly faults: readonly FaultKind[] }[],
  options: {
    /** Of the simulation's time since the epoch. */
    readonly startMs: number
    readonly fromMs: number
    readonly toMs: number
    readonly count: number
    /** Only faults of these kinds, joined by commas. */
    readonly only?: string | undefined
  },
): ScheduledFault[] {
  const schedule: ScheduledFault[] = []
  for (let index = 0; index < options.count; index++) {
    const part = random.pick(parts)
    const only = options.only?.split(',')
    const kinds = part.faults.filter(({ kind }) => only === undefined || only.includes(kind))
    if (kinds.length === 0) continue
    const { kind, durationMs, settings } = random.weighted(kinds)
    const lengthMs = drawLength(random, durationMs)
    const others = schedule.filter((other) => other.part === part.name)
    const atMs =
      others.length > 0 && random.chance(MEETING_SHARE)
        ? drawMeeting(random, options, lengthMs, random.pick(others))
        : drawInstant(random, options, lengthMs)
    schedule.push({
      part: part.name,
      kind,
      atMs,
      // A fault that is cut off by the end of the simulation keeps a duration, otherwise it would never be over.
      durationMs: Math.min(lengthMs, Math.max(1, options.toMs - atMs)),
      settings: settings?.(random) ?? {},
    })
  }
  return schedule.sort((a, b) => a.atMs - b.atMs)
}

/** The length is drawn by its order of magnitude, so that short faults are as frequent as long ones. */
function drawLength(random: Random, [shortest, longest]: readonly [number, number]): number {
  if (longest === 0) return 0
  return Math.round(shortest * (longest / shortest) ** random())
}

function drawInstant(
  random: Random,
  { startMs, fromMs, toMs }: { startMs: number; fromMs: number; toMs: number },
  lengthMs: number,
): number {
  const anywhereMs = random.int(fromMs, toMs)
  const kind = random()
  if (kind < 0.4) return anywhereMs
  const gridMs = kind < 0.85 ? MINUTE_MS : kind < 0.95 ? HOUR_MS : 5 * MINUTE_MS
  const boundaryMs = Math.round((startMs + anywhereMs) / gridMs) * gridMs - startMs
  return beginOrEnd(
    random,
    { fromMs, toMs },
    lengthMs,
    boundaryMs + random.int(-3 * SECOND_MS, 3 * SECOND_MS),
  )
}

function drawMeeting(
  random: Random,
  range: { fromMs: number; toMs: number },
  lengthMs: number,
  other: ScheduledFault,
): number {
  const isWithin = random.chance(0.5)
  const edgeMs = random.chance(0.5) ? other.atMs : other.atMs + other.durationMs
  const meetMs = isWithin
    ? other.atMs + random.int(0, other.durationMs)
    : edgeMs + random.int(-NEAR_MS, NEAR_MS)
  return beginOrEnd(random, range, lengthMs, meetMs)
}

/** Either the beginning or the end of the fault lies at this instant. */
function beginOrEnd(
  random: Random,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  lengthMs: number,
  thereMs: number,
): number {
  const atMs = random.chance(0.5) ? thereMs : thereMs - lengthMs
  return Math.min(Math.max(atMs, fromMs), toMs)
}

export function describeFault({ part, kind, atMs, durationMs, settings }: ScheduledFault): string {
  const more = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const length = durationMs === 0 ? '' : ` for ${(durationMs / SECOND_MS).toFixed(3)} s`
  return [`+${formatElapsed(atMs)} ${part} ${kind}${length}`, ...more].join(' ')
}

export function formatElapsed(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const rest = String(ms % SECOND_MS).padStart(3, '0')
  return `${two(ms / HOUR_MS)}:${two((ms / MINUTE_MS) % 60)}:${two((ms / SECOND_MS) % 60)}.${rest}`
}
