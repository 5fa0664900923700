/** A session emits every market, even if another session or a witness has listed it before. */
import type { Venue } from '../../src/venues/venue.ts'
import type { collect } from './loopback.ts'

export async function proveEmittedAgain(options: {
  venue: Venue
  listen: () => ReturnType<typeof collect>
  marketId: string
}): Promise<void> {
  const { signal } = new AbortController()
  await options.venue.witness({ topic: 'trades', symbol: 'BTC' }, { signal })
  for (const name of ['the first session', 'the second session']) {
    const received = options.listen()
    await received.until(() => received.last('market', options.marketId) !== undefined, name)
    await received.close()
  }
}
