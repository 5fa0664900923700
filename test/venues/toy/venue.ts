/** The toy behind the venue port. */

import { assembleVenue, checkLine } from '../../../src/venues/adapter/assemble-venue.ts'
import { supportedChannels } from '../../../src/venues/adapter/supported.ts'
import { createVenueTime } from '../../../src/venues/rest/venue-time.ts'
import type { Venue, VenueDependencies } from '../../../src/venues/venue.ts'
import { toyDescription as describe } from './describe.ts'
import { createReader, routesOf } from './feed.ts'
import { askServerTime, walkHistory } from './history.ts'

export function createToy(dependencies: VenueDependencies): Venue {
  const parts = assembleVenue(describe, dependencies)
  const venueTime = createVenueTime({
    clock: dependencies.clock,
    askVenue: (signal) => askServerTime(parts, signal),
  })
  return {
    describe,
    deadLetters: parts.deadLetters,
    live(channels, options) {
      const routes = routesOf(supportedChannels(describe, channels), parts.hosts.stream, parts.symbols)
      return parts.listen({ routes, polls: [], protocol: createReader(parts.symbols) }, options)
    },
    history: (request, { signal }) =>
      parts.history(request, () => walkHistory({ ...parts, venueTime }, request, signal)),
    witness: async () => undefined,
    check: ({ signal }) =>
      checkLine(
        describe,
        [parts.hosts.rest],
        async () => `its clock reads ${(await venueTime.request(signal)).venueMs}`,
      ),
  }
}
