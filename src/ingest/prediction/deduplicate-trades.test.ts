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
    assert.ok(trades.add(trade(0, '10')))
    assert.deepEqual(
      [...list, ...list].map((each) => trades.add({ ...each, fills: list })?.id),
      [undefined, undefined, undefined, undefined],
      name,
    )
    assert.equal(trades.size, 10, name)
  }
})

test('a stored transaction of the list gets the rows that it lacks', () => {
  const trades = new TradeDeduplicator(true)
  assert.ok(trades.add(trade(0, '6')))
  assert.ok(trades.add(trade(1, '4')))
  const list = [listed(0, '6.00'), listed(1, '4.00'), listed(2, '3')]
  assert.deepEqual(
    list.map((each) => trades.add({ ...each, fills: list })?.id),
    [undefined, undefined, '0xaa-up-2'],
  )
  assert.equal(trades.size, 13)
})

test('a fill that the stream lost is added from the list, once, at a free position', () => {
  for (const [name, { streamed, list, added }] of Object.entries({
    'the first of two': { streamed: ['4'], list: ['6', '4'], added: ['0xaa-up-1'] },
    'the last of two': { streamed: ['6'], list: ['6', '4'], added: ['0xaa-up-1'] },
    'one of two that are equal': { streamed: ['5'], list: ['5', '5.0'], added: ['0xaa-up-1'] },
    'two of three': { streamed: ['7'], list: ['6', '4', '7'], added: ['0xaa-up-1', '0xaa-up-2'] },
    'none of two that the stream sent as one': { streamed: ['10'], list: ['6', '4'], added: [] },
  })) {
    for (const isRestart of [false, true]) {
      const trades = new TradeDeduplicator(true)
      const before = streamed.map((size, place) => trade(place, size, SECOND_MS + 123))
      for (const each of before) trades.add(each)
      const rows = list.map((size, place) => listed(place, size))
      const found = rows.flatMap((each) => trades.add({ ...each, fills: rows }) ?? [])
      assert.deepEqual(
        found.map(({ id }) => id),
        added,
        name,
      )
      const later = isRestart ? new TradeDeduplicator(true) : trades
      // What is stored does not show where it came from.
      if (isRestart) for (const { isSwept: _, ...stored } of [...before, ...found]) later.add(stored)
      assert.deepEqual(
        rows.flatMap((each) => later.add({ ...each, fills: rows }) ?? []),
        [],
        name,
      )
    }
  }
})

// Comparing all of them for each of them would take minutes.
test('a transaction of thousands of fills is compared in a moment', { timeout: 30_000 }, () => {
  const trades = new TradeDeduplicator(true)
  const list = Array.from({ length: 3_000 }, (_, place) => listed(place, String(place + 1)))
  trades.add(trade(0, '3000'))
  const found = list.flatMap((each) => trades.add({ ...each, fills: [...list] }) ?? [])
  assert.equal(found.length, 2_999)
  assert.equal(new Set(found.map(({ id }) => id)).size, 2_999)
})
