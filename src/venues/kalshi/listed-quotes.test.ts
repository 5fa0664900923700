import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDeadLetters } from '../dead-letter.ts'
import type { RestClient, RestRequest } from '../rest/rest-client.ts'
import { createKalshiCatalogue } from './catalogue.ts'

const OPEN = Date.UTC(2026, 3, 16, 4)
const TICKER = 'KXBTCD-26APR1601-T72000'

test('the quotes of a contract are those of the newest list; quotes that cannot be read do not cost the contract', async () => {
  let quotes: object = {}
  const client = {
    async request({ query = {} }: RestRequest) {
      const contract = {
        ticker: TICKER,
        event_ticker: 'KXBTCD-26APR1601',
        open_time: new Date(OPEN).toISOString(),
        close_time: new Date(OPEN + 3_600_000).toISOString(),
        status: 'active',
        ...quotes,
      }
      const isListed = query.series_ticker === 'KXBTCD' && query.status === 'open'
      const value = { markets: isListed ? [contract] : [], cursor: '' }
      return { value, text: '…', headers: new Headers(), receivedMs: OPEN, roundTripMs: 1 }
    },
  } as unknown as RestClient
  const catalogue = createKalshiCatalogue({ client, deadLetters: createDeadLetters({ venue: 'toy' }) })
  const topWith = async (yes_bid_dollars: unknown, yes_ask_dollars: unknown) => {
    quotes = { yes_bid_dollars, yes_ask_dollars }
    await catalogue.refresh('BTC', OPEN, new AbortController().signal)
    const contract = catalogue.get(TICKER)
    assert.ok(contract)
    return contract.top
  }
  assert.deepEqual(await topWith('0.4000', '0.4500'), { bid: 400_000, ask: 450_000 })
  assert.deepEqual(await topWith('0.4100', '1.0000'), { bid: 410_000, ask: null })
  assert.equal(await topWith('0.4100', undefined), undefined)
  assert.equal(await topWith('many', '0.4500'), undefined)
})
