/**
 * The stores of a folder, or of `:memory:`, opened as the service opens them or beside a running one. Where
 * TAPELINE_TEST_ENGINE is `postgres`, a folder stands for schemas of its own on the server of this run: the tests of
 * behaviour run on that engine.
 */
import { createHash } from 'node:crypto'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { openStores, parseStoreAddress, type Stores } from '../../src/store/open-stores.ts'
import { postgresAddress } from '../postgres/test-postgres.ts'

export function storesIn(folder: string, clock: Clock = systemClock): Stores {
  return openStores(parseStoreAddress(sharedAddress(folder) ?? folder), clock)
}

/** Undefined where the folder itself is the store. */
export function sharedAddress(folder: string): string | undefined {
  if (process.env.TAPELINE_TEST_ENGINE !== 'postgres' || folder === ':memory:') return undefined
  return postgresAddress(`t_${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`)
}
