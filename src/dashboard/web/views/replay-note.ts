import { plural } from '../format.ts'

export interface Replayed {
  events: number
  already_pending: number
  next_after_seq: number | null
  gap: boolean
}

/** The result of a replay, in a sentence or two. */
export function replayNote({
  events,
  already_pending: pending,
  next_after_seq: next,
  gap,
}: Replayed): string {
  return [
    events > 0 ? `${plural(events, 'event is', 'events are')} delivered again.` : '',
    pending > 0 ? `${plural(pending, 'event waits', 'events wait')} to be delivered already.` : '',
    events === 0 && pending === 0 ? 'There is no event of these kinds in the range.' : '',
    gap ? 'The log no longer reaches back to the beginning of the range.' : '',
    next === null ? '' : 'The range has more.',
  ]
    .filter((part) => part !== '')
    .join(' ')
}
