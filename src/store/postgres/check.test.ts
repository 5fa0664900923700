import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresPlace, withoutPostgres } from '../../../test/postgres/test-postgres.ts'
import { systemClock } from '../../kit/clock.ts'
import { candle, candleFeed } from '../conformance/engine.ts'
import { checkStore, openStores, parseStoreAddress } from '../open-stores.ts'

test('store check counts partitions and says by how much the clocks differ', {
  skip: withoutPostgres,
}, async () => {
  const place = postgresPlace()
  const address = parseStoreAddress(place.address)
  try {
    const market = await openStores(address, systemClock).environment('test')
    await market.write({ rows: [{ feed: candleFeed('cexa'), rows: [candle(0)] }], coverage: [] })
    await market.close()
    const findings = await checkStore(address)
    const found = (about: RegExp) => findings.find((each) => about.test(each.about))?.finding
    assert.match(found(/_test partitions$/) ?? JSON.stringify(findings), /^\d+ in \d+ tables/)
    assert.match(found(/^clock$/) ?? '', /^this machine is \d+ ms (ahead of|behind) the server/)
  } finally {
    await place.remove()
  }
})
