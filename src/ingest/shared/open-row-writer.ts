/** Opens the row writer of one venue. Rows that cannot be stored become dead letters of the venue. */
import { feedName } from '../../core/feed.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'
import type { EnvironmentStore } from '../../store/environment.ts'
import type { Venue } from '../../venues/venue.ts'
import { createRowWriter, type RowWriter } from './write-rows.ts'

export function openRowWriter(options: {
  venue: Pick<Venue, 'deadLetters'>
  store: Pick<EnvironmentStore, 'write' | 'coverage' | 'series'>
  clock: Clock
  random: () => number
  log: Logger
}): RowWriter {
  const { venue, store, clock, random, log } = options
  return createRowWriter({
    store,
    clock,
    random,
    log,
    onRefused: ({ feed, row, error }) =>
      venue.deadLetters.add({
        receivedMs: clock.now(),
        reason: 'refused_row',
        origin: feedName(feed),
        text: `${error.message} ${JSON.stringify(row) ?? ''}`,
      }),
  })
}
