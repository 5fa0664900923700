/** Everything that the venue answered about a contract reaches every session, even if another request fails. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import {
  type Answer,
  type Asked,
  collect,
  fastClock,
  startLoopback,
} from '../../../test/predictions/loopback.ts'
import { proveEmittedAgain } from '../../../test/predictions/prove-markets-sent.ts'
import type { Channel } from '../channel.ts'
import { createKalshi } from './venue.ts'

const START = Date.UTC(2026, 3, 16, 4, 59)
const CHANNELS: Channel[] = [{ topic: 'markets', symbol: 'BTC' }]
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const kalshi = {
  keyId: 'key-1',
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
}
const PATH = '/trade-api/v2/markets'
const QUARTER = 'KXBTC15M-26APR160100-00'
const strike = (index: number) => `KXBTCD-26APR1601-T${72_000 + index * 250}`

const contract = (ticker: string, more: Record<string, unknown> = {}) => ({
  ticker,
  event_ticker: ticker.split('-').slice(0, 2).join('-'),
  title: 'BTC price?',
  open_time: '2026-04-16T04:45:00Z',
  close_time: '2026-04-16T05:00:00Z',
  status: 'active',
  result: '',
  ...more,
})

async function start(speed: number, answer: (asked: Asked) => Answer | undefined) {
  const server = await startLoopback({ answer })
  const clock = fastClock(START, speed)
  const venue = createKalshi({ clock, hosts: { rest: server.http, stream: server.ws }, kalshi })
  return {
    server,
    venue,
    listen: () => collect(venue.live(CHANNELS, { signal: new AbortController().signal })),
  }
}

/** Lists the open quarter-hour contract; the other lists are empty. */
function quarterListed(url: URL): object {
  const isListed = url.searchParams.get('series_ticker') === 'KXBTC15M'
  const isOpen = url.searchParams.get('status') === 'open'
  return { markets: isListed && isOpen ? [contract(QUARTER)] : [], cursor: '' }
}

test('a poll for results that fails in its second half: the results of the first half are emitted', async (t) => {
  const tickers = Array.from({ length: 60 }, (_, index) => strike(index))
  let isSettled = false
  let isFailing = true
  const { server, listen } = await start(60, ({ url }) => {
    if (url.pathname !== PATH) return undefined
    const asked = url.searchParams.get('tickers')?.split(',')
    if (asked !== undefined) {
      isSettled = true
      if (isFailing && asked.includes(strike(55))) return { status: 503, body: {} }
      return { markets: asked.map((each) => contract(each, { status: 'finalized', result: 'yes' })) }
    }
    const isListed = !isSettled && url.searchParams.get('status') === 'open'
    const isSeries = url.searchParams.get('series_ticker') === 'KXBTCD'
    return { markets: isListed && isSeries ? tickers.map((each) => contract(each)) : [], cursor: '' }
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  await received.until(
    () => received.last('market', strike(0))?.market.status === 'resolved',
    'a result',
    40_000,
  )
  assert.equal(received.last('market', strike(0))?.market.winner, 'yes')
  assert.equal(received.last('market', strike(55))?.market.status, 'open')
  isFailing = false
  await received.until(
    () => received.last('market', strike(55))?.market.status === 'resolved',
    'the others',
    40_000,
  )
})

test('a list that fails among several: what the others answer is emitted', async (t) => {
  const { server, listen } = await start(20, ({ url }) => {
    if (url.pathname !== PATH) return undefined
    if (url.searchParams.get('series_ticker') === 'KXBTCD') return { status: 503, body: {} }
    return quarterListed(url)
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  await received.until(() => received.last('market', QUARTER) !== undefined, 'the contract of the quarter')
  assert.equal(received.of('market').length, 1, 'and it is emitted once')
})

test('a contract that opens between two questions of a list is known with the first', async (t) => {
  let answered = 0
  const { server, listen } = await start(1, ({ url }) => {
    if (url.pathname !== PATH) return undefined
    if (url.searchParams.get('series_ticker') !== 'KXBTC15M') return { markets: [], cursor: '' }
    // The contract opens after the first answer.
    const status = answered++ === 0 ? 'unopened' : 'open'
    const isListed = url.searchParams.get('status') === status
    return { markets: isListed ? [contract(QUARTER)] : [], cursor: '' }
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  await received.until(() => received.last('market', QUARTER) !== undefined, 'the contract')
})

test('a contract that is paused when the session begins is known: it is open, and has its figures', async (t) => {
  const { server, listen } = await start(1, ({ url }) => {
    if (url.pathname !== PATH) return undefined
    const [series, status] = ['series_ticker', 'status'].map((name) => url.searchParams.get(name))
    const isListed = series === 'KXBTC15M' && status === 'paused'
    return { markets: isListed ? [{ ...contract(QUARTER), status: 'inactive' }] : [], cursor: '' }
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  await received.until(() => received.last('market', QUARTER) !== undefined, 'the contract')
  assert.equal(received.last('market', QUARTER)?.market.status, 'open')
})

test('a session emits every contract, though another session or a witness has listed it before', async (t) => {
  const { server, venue, listen } = await start(5, ({ url }) => {
    if (url.pathname === `${PATH}/trades`) return { trades: [], cursor: '' }
    if (url.pathname !== PATH) return undefined
    return quarterListed(url)
  })
  t.after(() => server.close())
  await proveEmittedAgain({ venue, listen, marketId: QUARTER })
})

test('a list with a contract that cannot be read is reported until it can, not for one that is known or opens later', async (t) => {
  let title: unknown = 7
  const later = contract(QUARTER, { title: 7, open_time: '2026-04-18T04:45:00Z' })
  const { server, listen } = await start(60, ({ url }) => {
    if (url.pathname !== PATH) return undefined
    const status = url.searchParams.get('status')
    const isOpen = status === 'open'
    const series = url.searchParams.get('series_ticker')
    const isSeries = series === 'KXBTCD'
    if (series === 'KXBTC15M' && status === 'unopened') return { markets: [later], cursor: '' }
    return { markets: isSeries && isOpen ? [contract(strike(0), { title })] : [], cursor: '' }
  })
  t.after(() => server.close())
  const received = listen()
  t.after(() => received.close())
  const types = () => received.of('unread_markets').map(({ marketTypes }) => marketTypes)
  await received.until(() => types().length >= 2, 'two lists that cannot be read')
  assert.deepEqual(types()[0], ['1h', '4h', '24h'])
  title = 'BTC price?'
  await received.until(() => types().at(-1)?.length === 0, 'a list that can be read')
  title = 8
  const lists = server.asked.length
  await received.until(() => server.asked.length > lists + 12, 'further lists')
  assert.equal(types().at(-1)?.length, 0)
})
