/** A session is told every market, whoever has met it before: another session, or a witness. */
import type { Venue } from '../../src/venues/venue.ts'
import type { hear } from './loopback.ts'

export async function proveToldAnew(options: {
  venue: Venue
  listen: () => ReturnType<typeof hear>
  marketId: string
}): Promise<void> {
  const { signal } = new AbortController()
  await options.venue.witness({ topic: 'trades', symbol: 'BTC' }, { signal })
  for (const name of ['the first session', 'the second session']) {
    const heard = options.listen()
    await heard.until(() => heard.last('market', options.marketId) !== undefined, name)
    await heard.close()
  }
}
