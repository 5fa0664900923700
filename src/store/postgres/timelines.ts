/**
 * The timelines in an archive. A server that was restored, or a standby that took over, begins a new timeline and
 * archives its history: the timelines it comes from and the place in the log where it left each of them. What those
 * hold after that place is not part of it, and a backup that ends after it cannot lead to it.
 *
 *   timeline 1   ──base──┬──────base────── lost
 *   timeline 2           └────────────────────
 */
import type { BaseBackup } from './backup.ts'

const FIRST_TIMELINE = 1
const HEX = 16

export interface Timeline {
  readonly id: number
  /** The timelines it comes from, each with the place in the log where it left them. */
  readonly leftAt: ReadonlyMap<number, bigint>
  /** When its history was archived. */
  readonly archivedAtMs: number
}

/** A whole segment in the archive. */
export interface Segment {
  readonly name: string
  readonly bytes: number
}

export const isSegment = (name: string): boolean => /^[0-9A-F]{24}$/.test(name)

type OnTimeline = Pick<BaseBackup, 'firstWal' | 'takenAtMs'>

/** The id of the timeline whose history this file of the archive is. The first timeline has none. */
export function historyId(name: string): number | undefined {
  const [, id] = /^([0-9A-F]{8})\.history$/.exec(name) ?? []
  return id === undefined ? undefined : Number.parseInt(id, HEX)
}

export function parseHistory(text: string): Timeline['leftAt'] {
  const lines = [...text.matchAll(/^\s*(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/gm)]
  return new Map(lines.map(([, parent, place = '']) => [Number(parent), placeOf(place)]))
}

function timelineOf({ firstWal }: Pick<BaseBackup, 'firstWal'>): number {
  return Number.parseInt(firstWal.slice(0, 8), HEX)
}

/**
 * The timeline in use at this time: that of the newest backup by then, or one that began since. The age of a history
 * file may be that of a copy of the archive, but a timeline is never newer than a backup of it.
 */
export function timelineAt(
  timelines: readonly Timeline[],
  backups: readonly OnTimeline[],
  atMs: number,
): number {
  const taken = backups.map((backup) => ({ id: timelineOf(backup), atMs: backup.takenAtMs }))
  const begun = timelines.map(({ id, archivedAtMs }) => ({
    id,
    atMs: Math.min(
      archivedAtMs,
      ...taken.filter((each) => comesFrom(timelines, each.id, id)).map((each) => each.atMs),
    ),
  }))
  const [newest] = [...taken, ...begun]
    .filter((each) => each.atMs <= atMs)
    .sort((a, b) => b.atMs - a.atMs || b.id - a.id)
  return newest?.id ?? FIRST_TIMELINE
}

/**
 * The timeline to follow for what another one holds. Its last segment is archived whole only by the server that took
 * over, under the name of the timeline that this server began.
 */
export function continuedBy(
  timelines: readonly Timeline[],
  id: number,
  segments: readonly Segment[],
): number {
  const ends = segments.filter(({ name }) => timelineOf({ firstWal: name }) === id).map(segmentEnd)
  const end = ends.reduce((newest, each) => (each > newest ? each : newest), 0n)
  const [next] = timelines
    .filter((each) => each.id > id && (each.leftAt.get(id) ?? -1n) >= end)
    .filter((each) => newestParent(each) === id)
    .sort((a, b) => a.archivedAtMs - b.archivedAtMs || a.id - b.id)
  return next === undefined ? id : continuedBy(timelines, next.id, segments)
}

const newestParent = ({ leftAt }: Timeline) => Math.max(...leftAt.keys())

function segmentEnd({ name, bytes }: Segment): bigint {
  const log = BigInt(`0x${name.slice(8, 16)}`) << 32n
  return log + (BigInt(`0x${name.slice(16)}`) + 1n) * BigInt(bytes)
}

/** Also true of a timeline and itself. */
export function comesFrom(timelines: readonly Timeline[], id: number, earlier: number): boolean {
  return id === earlier || timelines.some((each) => each.id === id && each.leftAt.has(earlier))
}

/** Whether a server restored from the backup can follow the timeline. `manifest` reads what pg_basebackup wrote. */
export async function leadsTo(
  timelines: readonly Timeline[],
  id: number,
  backup: OnTimeline,
  manifest: () => Promise<string>,
): Promise<boolean> {
  if (timelineOf(backup) === id) return true
  const leftAt = timelines.find((each) => each.id === id)?.leftAt.get(timelineOf(backup))
  return leftAt !== undefined && endOf(await manifest()) <= leftAt
}

/** The value of `recovery_target_timeline`. */
export function timelineSetting(timelines: readonly Timeline[], id: number, backup: OnTimeline): string {
  const own = timelineOf(backup)
  let newest = own
  while (timelines.some((each) => each.id === newest + 1)) newest++
  // The default, so that a standby made from the restored server later follows a failover.
  if (id === newest) return 'latest'
  return id === own ? 'current' : String(id)
}

/** The place in the log up to which a backup must be replayed to be consistent. */
function endOf(manifest: string): bigint {
  const { 'WAL-Ranges': ranges } = JSON.parse(manifest) as { 'WAL-Ranges': { 'End-LSN': string }[] }
  return placeOf(ranges.at(-1)?.['End-LSN'] ?? '')
}

/** Reads a place such as `0/30000D0`. */
function placeOf(text: string): bigint {
  const [high, low] = text.split('/')
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`)
}
