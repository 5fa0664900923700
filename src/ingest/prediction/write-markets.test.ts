/** Catalogue entries that the store refuses, and those that it cannot write at the moment. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketInput } from '../../core/rows/market.ts'
import { RowError } from '../../core/rows/row-error.ts'
import { createLogger } from '../../kit/log.ts'
import { createMarketWriter } from './write-markets.ts'

const market = (marketId: string, volume = '0'): MarketInput => ({
  ...{ marketId, source: 'predmkt_b', symbol: 'BTC', active: true, status: 'open', volume },
})

function setUp() {
  const written: string[] = []
  const fault: { of?: (markets: readonly MarketInput[]) => Error | undefined } = {}
  const writer = createMarketWriter({
    store: {
      async write({ markets = [] }) {
        const error = fault.of?.(markets)
        if (error !== undefined) throw error
        written.push(...markets.map(({ marketId, volume }) => `${marketId} ${volume}`))
        return { inserted: 0, unchanged: 0, rewritten: 0, corrected: 0, markets: markets.length }
      },
    },
    log: createLogger({ level: 'silent' }),
  })
  return { writer, fault, written: () => written.splice(0) }
}

test('a market that the store refuses is dropped, and the others are written', async () => {
  const { writer, fault, written } = setUp()
  fault.of = (markets) =>
    markets.some(({ marketId }) => marketId === 'bad') ? new RowError('status', 'unknown') : undefined
  for (const id of ['a', 'bad', 'b']) writer.put(market(id))
  await writer.flush()
  assert.deepEqual(written(), ['a 0', 'b 0'])
  await writer.flush()
  assert.deepEqual(written(), [])
})

test('while the store fails nothing is lost, and of a market the newest entry is written', async () => {
  const { writer, fault, written } = setUp()
  fault.of = () => new Error('disk full')
  writer.put(market('a', '1'))
  writer.put(market('b', '1'))
  const failing = writer.flush()
  writer.put(market('a', '2'))
  await failing
  assert.deepEqual(written(), [])
  fault.of = () => undefined
  await writer.flush()
  assert.deepEqual(written().sort(), ['a 2', 'b 1'])
})

test('a market that fails for another reason does not hold up the others', async () => {
  const { writer, fault, written } = setUp()
  fault.of = (markets) => (markets.some(({ marketId }) => marketId === 'a') ? new Error('broken') : undefined)
  for (const id of ['a', 'b', 'c']) writer.put(market(id))
  await writer.flush()
  await writer.flush()
  assert.deepEqual(written(), ['b 0', 'c 0'])
})
