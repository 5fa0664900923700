/**
 * How much space the store takes, how fast it grows and when its disk will be full. One process measures (role
 * `upkeep`) and reports to all others. Samples are kept in the store, so that the growth is known after a restart.
 *
 *   every ten minutes: measure ──▶ growth since the sample of a day ago ──▶ report (status, metrics, operator's page)
 *                                  one sample per hour, the last 25 are kept
 */
import { DAY_MS } from '../core/time.ts'
import { type Clock, runAfter, runEvery } from '../kit/clock.ts'
import { type DiskRoom, watchDiskRoom } from '../kit/disk-room.ts'
import type { Logger } from '../kit/log.ts'
import type { DiskUse, PartUse } from '../store/disk-use.ts'
import type { Stores } from '../store/open-stores.ts'
import { leadPart } from './lead.ts'
import type { EnvironmentParts } from './parts.ts'

export interface DiskPart extends PartUse {
  /** Null until the part has been measured for an hour. */
  readonly growthPerDay: number | null
}

export interface DiskReport {
  readonly measuredAtMs: number
  readonly usedBytes: number
  readonly reusableBytes: number
  /** Null if the disk is unknown, because it belongs to another server. */
  readonly freeBytes: number | null
  readonly growthPerDay: number | null
  /** Null if the store does not grow, or the disk is unknown. */
  readonly fullAtMs: number | null
  readonly minFreeBytes: number | null
  readonly isLow: boolean
  readonly parts: readonly DiskPart[]
}

export interface DiskUseService {
  /** The newest measurement; undefined before the first one. */
  report(): DiskReport | undefined
  /** There is less free space than TAPELINE_MIN_FREE, so writes that can wait are not made. */
  isLow(): boolean
}

/** A stored measurement: bytes by part. */
interface Sample {
  readonly atMs: number
  readonly bytes: Readonly<Record<string, number>>
}

const PART = 'upkeep/disk'
const SAMPLES_PART = 'disk-samples'
const FIRST_MS = 15_000
const EVERY_MS = 10 * 60_000
const SAMPLE_EVERY_MS = 3_600_000
const MAX_SAMPLES = 25
/** Over a shorter time a checkpoint or a backfill would be mistaken for growth. */
const MIN_SPAN_MS = SAMPLE_EVERY_MS
/** Beyond this, a date would be meaningless. */
const MAX_FULL_MS = 100 * 365 * DAY_MS
const WARN_EVERY_MS = 3_600_000

type DiskUseParts = Pick<
  EnvironmentParts,
  'config' | 'stores' | 'leadership' | 'reports' | 'does' | 'clock' | 'log' | 'shutdown'
>

export async function startDiskUse(parts: DiskUseParts): Promise<DiskUseService> {
  const { config, stores, reports, clock, log, shutdown } = parts
  // Of a separate database server's disk only the configured size is known.
  const room = stores.isShared ? undefined : await openRoom(parts)
  shutdown.add('disk room', () => room?.close())
  const report = () => reports.find<DiskReport | null>((part) => part === PART)[0]?.report ?? undefined
  if (parts.does('upkeep')) {
    const upkeep = await leadPart(PART, parts.leadership, async () => {
      const measuring = startMeasuring({ stores, clock, log, config, room })
      const withdraw = reports.add(PART, () => ({ report: measuring.report() ?? null, problem: null }))
      return {
        async close() {
          await measuring.close()
          await withdraw()
        },
      }
    })
    shutdown.add('disk use', () => upkeep.close())
  }
  return { report, isLow: () => room?.isLow() ?? report()?.isLow ?? false }
}

async function openRoom({ config, clock, log }: DiskUseParts): Promise<DiskRoom> {
  const { data: folder, minFreeBytes } = config
  let warnedMs = Number.NEGATIVE_INFINITY
  const warn = (freeBytes: number) => {
    warnedMs = clock.now()
    log.error(
      { folder, freeBytes, minFreeBytes },
      'the disk is nearly full: backfills, replays of webhooks and dead letters have stopped, recording goes on as long as it can',
    )
  }
  const room = await watchDiskRoom({
    folder,
    minFreeBytes,
    clock,
    onChange: ({ isLow, freeBytes }) => {
      if (isLow) warn(freeBytes)
      else log.info({ folder, freeBytes, minFreeBytes }, 'the disk has room again')
    },
  })
  const stop = runEvery(clock, WARN_EVERY_MS / 10, () => {
    if (room.isLow() && clock.now() - warnedMs >= WARN_EVERY_MS) warn(room.freeBytes() ?? 0)
  })
  return {
    ...room,
    close() {
      stop()
      room.close()
    },
  }
}

interface MeasuringParts {
  readonly stores: Pick<Stores, 'diskUse' | 'coordination'>
  readonly clock: Clock
  readonly log: Logger
  readonly config: { readonly minFreeBytes: number | null; readonly diskBytes: number | null }
  readonly room: Pick<DiskRoom, 'freeBytes' | 'isLow'> | undefined
}

export function startMeasuring({ stores, clock, log, config, room }: MeasuringParts) {
  let report: DiskReport | undefined
  let samples: Sample[] | undefined
  let running: Promise<void> | undefined

  const roomOf = (usedBytes: number) => {
    if (room !== undefined) return { freeBytes: room.freeBytes(), isLow: room.isLow() }
    if (config.diskBytes === null) return { freeBytes: null, isLow: false }
    const freeBytes = Math.max(0, config.diskBytes - usedBytes)
    return { freeBytes, isLow: freeBytes < (config.minFreeBytes ?? 0) }
  }
  const measure = async () => {
    samples ??= await readSamples(stores)
    const use = await stores.diskUse()
    const nowMs = clock.now()
    // Drops samples written while the clock was ahead: until their date, one of them would be the newest and none would
    // be added.
    samples = samples.filter(({ atMs }) => atMs <= nowMs)
    const now: Sample = { atMs: nowMs, bytes: bytesByPart(use) }
    const base = samples.find(({ atMs }) => nowMs - atMs <= DAY_MS && nowMs - atMs >= MIN_SPAN_MS)
    const usedBytes = sum(Object.values(now.bytes))
    const measured: DiskReport = {
      measuredAtMs: nowMs,
      usedBytes,
      reusableBytes: use.reusableBytes,
      ...growthOf(now, base, use),
      minFreeBytes: config.minFreeBytes,
      fullAtMs: null,
      ...roomOf(usedBytes),
    }
    if (room === undefined && measured.isLow && report?.isLow !== true)
      log.error({ freeBytes: measured.freeBytes, ...config }, 'the disk of the store is nearly full')
    const newest = samples.at(-1)
    if (newest === undefined || nowMs - newest.atMs >= SAMPLE_EVERY_MS) {
      samples = [...samples, now].slice(-MAX_SAMPLES)
      await writeSamples(stores, samples)
    }
    report = { ...measured, fullAtMs: fullAt(measured) }
  }
  const go = () => {
    running ??= measure()
      .catch((err) => log.error({ err }, 'the disk use could not be measured'))
      .finally(() => {
        running = undefined
      })
  }
  const cancelFirst = runAfter(clock, FIRST_MS, go)
  const stop = runEvery(clock, EVERY_MS, go)
  return {
    /** Free space as it is now, the rest as it was measured. */
    report: (): DiskReport | undefined =>
      report === undefined || room === undefined
        ? report
        : { ...report, freeBytes: room.freeBytes(), isLow: room.isLow() },
    async close() {
      cancelFirst()
      stop()
      await running
    },
  }
}

const nameOf = ({ environment, part }: Pick<PartUse, 'environment' | 'part'>) =>
  `${environment ?? ''}/${part}`

function bytesByPart({ parts }: DiskUse): Record<string, number> {
  return Object.fromEntries(parts.map((part) => [nameOf(part), part.bytes]))
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)

function growthOf(now: Sample, base: Sample | undefined, { parts }: DiskUse) {
  const perDay = (bytes: number) =>
    base === undefined ? null : Math.round((bytes / (now.atMs - base.atMs)) * DAY_MS)
  const total = (sample: Sample | undefined) => sum(Object.values(sample?.bytes ?? {}))
  return {
    growthPerDay: perDay(total(now) - total(base)),
    parts: parts.map((part) => ({
      ...part,
      growthPerDay: perDay(part.bytes - (base?.bytes[nameOf(part)] ?? 0)),
    })),
  }
}

function fullAt({ freeBytes, reusableBytes, growthPerDay, measuredAtMs }: DiskReport): number | null {
  if (freeBytes === null || growthPerDay === null || growthPerDay <= 0) return null
  const leftMs = ((freeBytes + reusableBytes) / growthPerDay) * DAY_MS
  return leftMs > MAX_FULL_MS ? null : Math.round(measuredAtMs + leftMs)
}

async function readSamples(stores: Pick<Stores, 'coordination'>): Promise<Sample[]> {
  const coordination = stores.coordination()
  try {
    const stored = (await coordination.listHeartbeats()).find(({ part }) => part === SAMPLES_PART)
    return stored === undefined ? [] : (JSON.parse(stored.text) as { samples: Sample[] }).samples
  } finally {
    await coordination.close()
  }
}

async function writeSamples(stores: Pick<Stores, 'coordination'>, samples: readonly Sample[]): Promise<void> {
  const coordination = stores.coordination()
  try {
    await coordination.putHeartbeat({ part: SAMPLES_PART, text: JSON.stringify({ samples }) })
  } finally {
    await coordination.close()
  }
}
