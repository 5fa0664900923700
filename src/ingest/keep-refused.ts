/** Rows that cannot be stored join the messages that could not be read: counted by reason, the newest kept. */
import { feedName } from '../core/feed.ts'
import type { Clock } from '../kit/clock.ts'
import type { Venue } from '../venues/venue.ts'
import type { RefusedRow } from './write-rows.ts'

export function keepRefused(
  { deadLetters }: Pick<Venue, 'deadLetters'>,
  clock: Clock,
): (refused: RefusedRow) => void {
  return ({ feed, row, error }) =>
    deadLetters.add({
      receivedMs: clock.now(),
      reason: 'refused_row',
      origin: feedName(feed),
      text: `${error.message} ${JSON.stringify(row) ?? ''}`,
    })
}
