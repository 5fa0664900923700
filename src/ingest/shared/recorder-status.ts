/** The status of a recorder, the same for every kind. */
import type { Venue } from '../../venues/venue.ts'
import type { TrackedFeed } from './feed-coverage.ts'
import type { RecordedFeed, Recorder, RecorderStatus } from './recorder.ts'
import type { LiveRun } from './run-live.ts'
import type { RowWriter } from './write-rows.ts'

export function recorderStatus(options: {
  venue: Venue
  source: Recorder['source']
  /** Undefined before the first run. */
  live: LiveRun | undefined
  writer: RowWriter | undefined
  /** Rows of earlier runs. */
  insertedBefore: number
  feeds: readonly RecordedFeed[]
  counts?: RecorderStatus['counts']
  backfill?: RecorderStatus['backfill']
}): RecorderStatus {
  const live = options.live?.status()
  const rows = options.writer?.stats()
  return {
    name: options.venue.describe.name,
    source: options.source,
    channels: live?.channels ?? 0,
    channelsUp: live?.up ?? 0,
    lastEventMs: live?.lastEventMs ?? null,
    rowsInserted: options.insertedBefore + (rows?.inserted ?? 0),
    waitingRows: (rows?.waiting ?? 0) + (live?.session.queued ?? 0),
    storeFailure: rows?.failure ?? null,
    backfill: options.backfill ?? null,
    counts: { ...options.counts, corrected: rows?.corrected ?? 0, refused: rows?.refused ?? 0 },
    feeds: options.feeds,
  }
}

export function recordedFeeds(venue: Venue, feeds: readonly TrackedFeed[]): RecordedFeed[] {
  return feeds.map(({ feed, channels }) => ({ feed, lagMs: lagOf(venue, channels) }))
}

function lagOf({ describe }: Venue, channels: readonly string[]): number {
  const live: Readonly<Record<string, { readonly via: string; readonly everyMs?: number } | undefined>> =
    describe.live
  return Math.max(
    0,
    ...channels.map((key) => {
      const topic = live[key.slice(0, key.indexOf(':'))]
      return topic?.via === 'poll' ? (topic.everyMs ?? 0) : 0
    }),
  )
}
