/** Notices of venues for the operator. They can change during recording, for example when a key is rejected. */
import type { Logger } from '../../kit/log.ts'
import type { Venue } from '../../venues/venue.ts'

export function createVenueNotices(log: Pick<Logger, 'warn'>) {
  const venues = new Map<string, Pick<Venue, 'describe' | 'notices'>>()
  const logged = new Map<string, readonly string[]>()
  return {
    add: (venue: Pick<Venue, 'describe' | 'notices'>) => void venues.set(venue.describe.source, venue),
    /** The notices of a source as one text, or null if it has no notices. A new line is logged once. */
    of(source: string): string | null {
      const notices = venues.get(source)?.notices ?? []
      const before = logged.get(source) ?? []
      const lines = notices.map(({ line }) => line)
      logged.set(source, lines)
      for (const { venue, line } of notices) if (!before.includes(line)) log.warn({ venue }, line)
      return lines.join(' ') || null
    },
  }
}
