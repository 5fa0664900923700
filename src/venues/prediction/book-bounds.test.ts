/** Order books of prediction markets are kept whole; an impossible one is refused and reported, never truncated. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textLevels } from '../../../test/predictions/levels.ts'
import { MAX_LEVELS } from '../../core/rows/book.ts'
import { createContractBook } from '../kalshi/book.ts'
import { askRestBook } from '../kalshi/history.ts'
import { aboutOf } from '../kalshi/mapper.ts'
import { SnapshotFrame } from '../kalshi/wire.ts'
import { TokenBook } from '../polymarket/book.ts'
import { BookMessage } from '../polymarket/wire.ts'
import type { RestAccess } from '../rest/typed-request.ts'

const about = aboutOf('BTC', 'KX', 1_000)
const price = (n: number) => (n / 1_000_000).toFixed(6)
const levels = (count: number) => Array.from({ length: count }, (_, i) => [price(i + 1), '1.00'] as const)
const objects = (count: number) => levels(count).map(([at, size]) => ({ price: at, size }))

function contractWith(count: number) {
  const book = createContractBook()
  return { book, seen: book.replace({ yes: levels(count), no: [] }, 'stream', 1_000, about) }
}
function tokenWith(count: number) {
  const leg = { marketId: '0x1', tokenId: 't', outcome: 'Up', symbol: 'BTC' as const, startMs: 0, endMs: 9 }
  const book = new TokenBook(leg)
  const wire = { asset_id: 't', market: '0x1', timestamp: '1000', bids: objects(count), asks: [] }
  return { book, seen: book.replace(wire, 'stream', 1_000) }
}

test('the deepest possible book is taken with every level', () => {
  for (const { seen } of [contractWith(MAX_LEVELS), tokenWith(MAX_LEVELS)]) {
    assert.equal(seen?.kind, 'book_snapshot')
    assert.equal(seen.bids.length, MAX_LEVELS)
    assert.deepEqual(textLevels(seen.bids.slice(0, 1)), [['0.01', '1']])
  }
})

test('a frame with more levels than there are prices is refused, not cut', () => {
  const contract = (count: number) => ({
    type: 'orderbook_snapshot',
    sid: 1,
    seq: 1,
    msg: { market_ticker: 'KX', yes_dollars_fp: levels(count), no_dollars_fp: [] },
  })
  const token = (count: number) => ({ asset_id: 't', market: '0x1', bids: objects(count), asks: [] })
  assert.deepEqual(
    [MAX_LEVELS, MAX_LEVELS + 1].map((count) => SnapshotFrame.is(contract(count))),
    [true, false],
  )
  assert.deepEqual(
    [MAX_LEVELS, MAX_LEVELS + 1].map((count) => BookMessage.is(token(count))),
    [true, false],
  )
})

test('a book that grows beyond all prices is lost with its reason', () => {
  const delta = { side: 'yes' as const, price: price(MAX_LEVELS + 1), delta: '1.00' }
  const contract = contractWith(MAX_LEVELS).book.change(delta, 2_000, about)
  const change = { asset_id: 't', price: delta.price, size: '1', side: 'BUY' as const }
  const [token] = tokenWith(MAX_LEVELS).book.change([change], 2_000, 2_000) ?? []
  for (const seen of [contract, token]) {
    assert.equal(seen?.kind, 'book_lost')
    assert.equal(seen.reason, 'too_deep')
  }
})

test('a level at a price above 1 makes no book and no change', () => {
  for (const wrong of ['1.000001', '5', '-0.1']) {
    const contract = contractWith(3).book
    assert.equal(contract.replace({ yes: [[wrong, '1']], no: [] }, 'stream', 2_000, about), undefined)
    assert.equal(contract.replace({ yes: [], no: [[wrong, '1']] }, 'stream', 2_000, about), undefined)
    assert.equal(contract.change({ side: 'no', price: wrong, delta: '1' }, 2_000, about), undefined)
    const token = tokenWith(3).book
    const change = { asset_id: 't', price: wrong, size: '1', side: 'BUY' as const }
    assert.equal(token.change([change], 2_000, 2_000), undefined)
  }
})

test('a polled book is asked for with every level', async () => {
  const asked: unknown[] = []
  const client = {
    request: async (question: unknown) => {
      asked.push(question)
      return { value: { orderbook_fp: { yes_dollars: [], no_dollars: [] } }, receivedMs: 1 }
    },
  }
  const asker = { client } as unknown as RestAccess
  await askRestBook(asker, 'KX', AbortSignal.timeout(1_000))
  assert.deepEqual((asked[0] as { query: unknown }).query, { depth: 0 })
})
