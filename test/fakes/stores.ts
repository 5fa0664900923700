/** The stores of a folder, or of `:memory:`, opened as the service opens them or beside a running one. */
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress, type Stores } from '../../src/store/open-stores.ts'

export function storesIn(folder: string, clock: Clock = systemClock): Stores {
  return openStores(parseStoreAddress(folder), clock)
}
