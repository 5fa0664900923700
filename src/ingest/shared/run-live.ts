/**
 * Listens to one venue: hands its observations to the recorders of the symbols and tracks what was observed.
 *
 *   session ──batches──▶ dispatch ──▶ symbol recorders ──▶ rows
 *                           ├── subscribed, disconnected, stale, damaged ──▶ coverage
 *                           ╰── back-pressure: the next batch waits until the writer has room
 *   every second: write open candles, extend coverage · every half second: sample books · close ended minutes
 */
import type { AssetSymbol } from '../../core/symbol.ts'
import type { Clock } from '../../kit/clock.ts'
import { countFailures } from '../../kit/count-failures.ts'
import type { Logger } from '../../kit/log.ts'
import { stopWith } from '../../kit/stop-with.ts'
import { type Channel, channelKey } from '../../venues/channel.ts'
import type { LiveOptions, Venue } from '../../venues/venue.ts'
import { COVERAGE_MARGIN_MS, ObservationDispatch } from './dispatch-observations.ts'
import type { LiveRecorder } from './live-recorder.ts'
import type { CoverageTracker } from './track-coverage.ts'
import { watchSilence } from './watch-silence.ts'
import type { RowWriter } from './write-rows.ts'

const TICK_MS = 1_000
const SAMPLE_MS = 500

export interface LiveRun {
  readonly done: Promise<void>
  status(): LiveStatus
  close(): Promise<void>
}

interface LiveStatus {
  readonly channels: number
  readonly up: number
  readonly lastEventMs: number | null
  /** Observations that have not been dispatched yet. */
  readonly queued: number
  readonly sockets: number
  readonly routes: number
  /** Loops that watch the silence of a channel. */
  readonly watchLoops: number
}

export function runLive(options: {
  venue: Venue
  channels: readonly Channel[]
  /** Whether books are sampled. */
  hasSnapshots: boolean
  recorders: ReadonlyMap<AssetSymbol, LiveRecorder>
  tracker: CoverageTracker
  writer: RowWriter
  clock: Clock
  log: Logger
  signal: AbortSignal
  maxSilenceMs?: LiveOptions['maxSilenceMs']
}): LiveRun {
  const { venue, channels, recorders, tracker, writer, clock, log } = options
  const keys = channels.map(channelKey)
  const stop = stopWith(options.signal)
  const { signal } = stop
  const session = venue.live(channels, {
    signal,
    ...(options.maxSilenceMs === undefined ? {} : { maxSilenceMs: options.maxSilenceMs }),
  })
  const silence = watchSilence({
    venue,
    session,
    clock,
    log,
    signal,
    onFault: (channel, sinceMs, reason) => dispatch.fellSilent(channel, sinceMs, reason),
  })
  const dispatch = new ObservationDispatch({
    ...{ recorders, tracker, silence, log, signal },
    startedMs: clock.now(),
  })

  async function listen(): Promise<void> {
    for await (const batch of session.batches()) {
      for (const observation of batch) dispatch.take(observation)
      await writer.ready()
    }
  }

  /** Everything up to this instant has been received. It lies further back while the queue is not empty. */
  const receivedTo = (readMs: number) =>
    session.stats().queued > 0 ? Math.min(dispatch.processedMs, readMs) : readMs

  async function tick(): Promise<void> {
    // What the sockets held at one tick has been read by the next, however busy this thread is.
    let readMs = clock.now()
    for (;;) {
      await clock.sleep(TICK_MS, signal)
      const nowMs = clock.now()
      for (const recorder of recorders.values()) recorder.pursue?.()
      // While the store fails, nothing is added to the waiting rows and no coverage is recorded.
      if (writer.stats().failure !== null) continue
      const receivedToMs = receivedTo(readMs)
      for (const recorder of recorders.values()) recorder.show(nowMs, receivedToMs)
      tracker.coverTo(receivedToMs - COVERAGE_MARGIN_MS, dispatch.takeAheadMs())
      readMs = nowMs
    }
  }

  async function sample(): Promise<void> {
    if (!options.hasSnapshots) return
    let readMs = clock.now()
    for (;;) {
      await clock.sleep(SAMPLE_MS, signal)
      const nowMs = clock.now()
      if (writer.stats().failure === null) {
        for (const recorder of recorders.values()) recorder.sample(nowMs, receivedTo(readMs))
        readMs = nowMs
      }
      for (const recorder of recorders.values()) recorder.judge?.(nowMs)
    }
  }

  async function close(recorder: LiveRecorder): Promise<void> {
    const failed = countFailures(clock)
    for (;;) {
      try {
        await recorder.close(clock.now())
      } catch (error) {
        if (signal.aborted) return
        const failures = failed()
        if (failures > 0)
          log.warn({ venue: venue.describe.name, err: error, failures }, 'minutes could not be closed yet')
        await clock.sleep(2 * TICK_MS, signal)
      }
      await clock.sleep(TICK_MS, signal)
    }
  }

  const endQuietly = (error: unknown) => {
    if (!signal.aborted) throw error
  }
  const loops = [listen(), tick(), sample(), ...[...recorders.values()].map(close)].map((loop) =>
    loop.catch(endQuietly),
  )
  const done = Promise.all(loops)
    .then(() => undefined)
    .finally(() => stop.abort())
  done.catch(() => {})

  return {
    done,
    status() {
      const { queued, sockets, routes } = session.stats()
      return {
        channels: channels.length,
        up: keys.filter(tracker.isUp).length,
        lastEventMs: dispatch.lastEventMs,
        ...{ queued, sockets, routes },
        watchLoops: silence.stats().loops,
      }
    },
    async close() {
      stop.abort()
      await session.close()
      await done.catch(() => {})
    },
  }
}
