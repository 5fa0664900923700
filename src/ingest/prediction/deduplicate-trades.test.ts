import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TradeObservation } from '../../venues/observation.ts'
import { TradeDeduplicator } from './deduplicate-trades.ts'

const SECOND_MS = Date.parse('2026-11-15T10:06:07Z')

const trade = (place: number, size: string, venueTimeMs = SECOND_MS): TradeObservation => ({
  ...({ kind: 'trade', source: 'predmkt_a', symbol: 'BTC', instrument: 'up', side: 'buy' } as const),
  ...{ venueTimeMs, receivedMs: venueTimeMs, price: '0.50', size, id: `0xaa-up-${place}`, key: null },
})
const listed = (place: number, size: string, venueTimeMs = SECOND_MS): TradeObservation => ({
  ...{ ...trade(place, size, venueTimeMs), isSwept: true },
})

test('a transaction that was streamed on a whole second stays as the stream sent it after a restart', () => {
  for (const [name, list] of Object.entries({
    'listed at another second': [listed(1, '4', SECOND_MS + 2_000), listed(0, '6', SECOND_MS + 2_000)],
    'listed at the same second with other sizes': [listed(0, '6'), listed(1, '4')],
    'in the order of the list': [listed(1, '4'), listed(0, '6')],
  })) {
    const trades = new TradeDeduplicator(true)
    assert.ok(trades.add(trade(0, '10'), true))
    assert.deepEqual(
      [...list, ...list].map((each) => trades.add(each)),
      [false, false, false, false],
      name,
    )
    assert.equal(trades.size, 10, name)
  }
})

test('a stored transaction of the list gets the rows that it lacks', () => {
  const trades = new TradeDeduplicator(true)
  assert.ok(trades.add(trade(0, '6'), true))
  assert.ok(trades.add(trade(1, '4'), true))
  const list = [listed(0, '6.00'), listed(1, '4.00'), listed(2, '3')]
  assert.deepEqual(
    list.map((each) => trades.add(each)),
    [false, false, true],
  )
  assert.equal(trades.size, 13)
})
