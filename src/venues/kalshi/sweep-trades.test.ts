import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { DataObservation, TradeObservation } from '../observation.ts'
import type { KalshiCatalogue } from './catalogue.ts'
import type { KalshiRest } from './history.ts'
import { createContractRounds } from './sweep-rounds.ts'
import { endsGap, isCurrent, sweepFromMs, TradeSweeps } from './sweep-trades.ts'

const LISTED_MS = 1_000_000

test('with a socket only a gap is swept, from its start on', () => {
  const state = { isPolling: false, polledMs: 500_000, listedMs: LISTED_MS }
  assert.equal(sweepFromMs({ ...state, gapFromMs: undefined }), undefined)
  assert.equal(sweepFromMs({ ...state, gapFromMs: 900_000 }), 900_000)
})

test('without a socket a sweep begins at the last list, else at the gap, else two lists back', () => {
  const state = { isPolling: true, listedMs: LISTED_MS }
  assert.equal(sweepFromMs({ ...state, polledMs: 970_000, gapFromMs: 900_000 }), 970_000)
  assert.equal(sweepFromMs({ ...state, polledMs: undefined, gapFromMs: 900_000 }), 900_000)
  assert.equal(sweepFromMs({ ...state, polledMs: undefined, gapFromMs: undefined }), LISTED_MS - 60_000)
})

test('a gap ends with the first list that was requested five seconds after it', () => {
  assert.equal(endsGap(undefined, LISTED_MS), false, 'the socket is still lost')
  assert.equal(endsGap(LISTED_MS - 4_999, LISTED_MS), false)
  assert.equal(endsGap(LISTED_MS - 5_000, LISTED_MS), true)
})

test('a volume is current in the list itself, after the close, and five seconds after the planned end', () => {
  const contract = (receivedMs: number, status: 'open' | 'closed') => ({
    receivedMs,
    market: {
      ...({ marketId: 'KXBTC15M-X', source: 'predmkt_b', symbol: 'BTC', active: true } as const),
      status,
      endTime: LISTED_MS - 10_000,
    },
  })
  assert.equal(isCurrent(contract(LISTED_MS, 'open'), LISTED_MS), true)
  assert.equal(isCurrent(contract(LISTED_MS - 30_000, 'open'), LISTED_MS), false, 'of the list before')
  assert.equal(isCurrent(contract(LISTED_MS - 30_000, 'closed'), LISTED_MS), true)
  assert.equal(isCurrent(contract(LISTED_MS - 5_001, 'open'), LISTED_MS), false)
  assert.equal(isCurrent(contract(LISTED_MS - 5_000, 'open'), LISTED_MS), true)
})

/** One contract without a trade, one without a volume and one that was traded; records which of them are swept. */
function threeContracts() {
  const volumes: [string, string | null][] = [
    ['KX-0', '0.00'],
    ['KX-NULL', null],
    ['KX-5', '5.00'],
  ]
  const list = volumes.map(([marketId, volume]) => ({
    ...{ market: { marketId, volume, status: 'open' }, receivedMs: Number.POSITIVE_INFINITY },
  }))
  const get = (ticker: string) => list.find(({ market }) => market.marketId === ticker)
  const catalogue = { of: () => list, get } as unknown as KalshiCatalogue
  const swept: string[] = []
  const sweep = async (_session: unknown, _symbol: unknown, ticker: string) => {
    swept.push(ticker)
    return []
  }
  const emitted: DataObservation[] = []
  const session = {
    signal: new AbortController().signal,
    emit: (_: string, observation: DataObservation) => void emitted.push(observation),
    ...{ answered() {}, report() {}, send: () => true, cut() {}, isPaused: () => false },
  }
  return { catalogue, clock: manualClock(LISTED_MS), swept, sweep, session, emitted }
}

test('a contract whose volume is left out is swept in every round, one without a trade in none', async () => {
  const { catalogue, clock, swept, sweep, session, emitted } = threeContracts()
  const rounds = createContractRounds({ catalogue, clock, symbols: 1, isSwept: () => false, sweep })
  for (let round = 0; round < 2; round++) {
    rounds.listed('BTC', clock.now())
    const done = rounds.round(session, 'BTC')
    for (let turns = 0; turns < 10; turns++) await Promise.resolve()
    clock.advance(60_000)
    await done
    clock.advance(3_600_000)
  }
  assert.deepEqual(swept, ['KX-NULL', 'KX-5', 'KX-NULL'])
  assert.deepEqual(
    emitted.map(({ kind }) => kind),
    ['swept_to', 'swept_to'],
  )
})

test('a contract that a list leaves out is swept in the round, because its volume may have changed', async () => {
  const { clock, swept, sweep, session, emitted } = threeContracts()
  const contract = (marketId: string, status: string) => ({
    ...{ market: { marketId, volume: '0.00', status }, receivedMs: LISTED_MS - 30_000 },
  })
  const list = [contract('KX-LEFT-OUT', 'open'), contract('KX-OVER', 'closed')]
  const catalogue = { of: () => list, get: () => list[0] } as unknown as KalshiCatalogue
  const rounds = createContractRounds({ catalogue, clock, symbols: 1, isSwept: () => false, sweep })
  rounds.listed('BTC', LISTED_MS)
  const done = rounds.round(session, 'BTC')
  for (let turns = 0; turns < 10; turns++) await Promise.resolve()
  clock.advance(60_000)
  await done
  assert.deepEqual([swept, emitted.length], [['KX-LEFT-OUT'], 1])
})

test('a round ends when the trades that it received make up the volumes', async () => {
  const { clock, session, emitted } = threeContracts()
  const market = { marketId: 'KX-5', volume: '5.00', status: 'open' }
  const contract = { market, receivedMs: LISTED_MS }
  const catalogue = { of: () => [contract], get: () => contract } as unknown as KalshiCatalogue
  const answers: unknown[][] = [[], [], [{ id: 'a', size: '2.00', venueTimeMs: LISTED_MS }]]
  const sweep = async () => answers.shift() as TradeObservation[]
  const rounds = createContractRounds({ catalogue, clock, symbols: 1, isSwept: () => false, sweep })
  const ended: number[] = []
  for (const volume of ['5.00', '7.00', '7.00']) {
    market.volume = volume
    contract.receivedMs = clock.now()
    rounds.listed('BTC', clock.now())
    const done = rounds.round(session, 'BTC')
    for (let turns = 0; turns < 10; turns++) await Promise.resolve()
    clock.advance(60_000)
    await done
    ended.push(emitted.length)
    clock.advance(600_000)
  }
  assert.deepEqual(ended, [1, 1, 2], 'an empty answer for a volume that has grown is not taken')
})

test('after a lost socket a contract whose volume is left out is swept like one that was traded', async () => {
  const { catalogue, clock, swept, sweep, session } = threeContracts()
  const sweeps = new TradeSweeps({
    ...{ catalogue, clock, rest: {} as KalshiRest, random: () => 0 },
    ...{ isPolling: () => false, tradesOf: () => undefined, emitMarkets() {} },
  })
  sweeps.sweep = sweep
  sweeps.disconnected('BTC', LISTED_MS - 60_000)
  sweeps.listed('BTC', LISTED_MS)
  await sweeps.sweepPending(session, 'BTC')
  assert.deepEqual(swept, ['KX-NULL', 'KX-5'])
})

test('without a socket, trades are observed once the swept ones make up what the volume has grown by', async () => {
  const { clock, session } = threeContracts()
  const market = { marketId: 'KX-5', volume: '5.00', status: 'open' }
  const contract = { market, receivedMs: LISTED_MS, series: { symbol: 'BTC' } }
  const catalogue = { of: () => [contract], get: () => contract } as unknown as KalshiCatalogue
  const channel = { topic: 'trades', symbol: 'BTC' } as const
  const sweeps = new TradeSweeps({
    ...{ catalogue, clock, rest: {} as KalshiRest, random: () => 0 },
    ...{ isPolling: () => true, tradesOf: () => channel, emitMarkets() {} },
  })
  const observedTo: number[] = []
  const answered = (_: string, toMs?: number) => void observedTo.push((toMs ?? 0) - LISTED_MS)
  const trade = { id: 'a', size: '2.00', venueTimeMs: LISTED_MS + 10_000 }
  const answers: unknown[][] = [[], [], [], [trade]]
  sweeps.sweep = async () => answers.shift() as TradeObservation[]
  const list = (volume: string) => {
    market.volume = volume
    contract.receivedMs = clock.now()
    sweeps.listed('BTC', clock.now())
  }
  const sweepPending = () => sweeps.sweepPending({ ...session, answered }, 'BTC')
  list('5.00')
  await sweepPending()
  assert.deepEqual(observedTo.splice(0), [-5_000])
  clock.advance(30_000)
  list('7.00')
  for (let tries = 0; tries < 2; tries++) {
    await sweepPending()
    clock.advance(10_000)
  }
  assert.deepEqual([observedTo, answers.length], [[], 1], 'empty answers')
  await sweepPending()
  assert.deepEqual(observedTo, [25_000])
})

test('a closed contract is swept when its whole list makes up its volume', async () => {
  const { clock, session, emitted } = threeContracts()
  const market = { marketId: 'KX-5', volume: '5.00', status: 'closed', endTime: LISTED_MS - 120_000 }
  const catalogue = { of: () => [{ market }], get: () => ({ market }) } as unknown as KalshiCatalogue
  const sweeps = new TradeSweeps({
    ...{ catalogue, clock, rest: {} as KalshiRest, random: () => 0 },
    ...{ isPolling: () => false, tradesOf: () => undefined, emitMarkets() {} },
  })
  const answers = [[], [{ size: '3.00' }, { size: '2.00' }]]
  sweeps.sweep = async () => answers.shift() as TradeObservation[]
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(sweeps.isSwept('KX-5'), false, 'an answer without its trades')
  clock.advance(60_000)
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(sweeps.isSwept('KX-5'), true)
  assert.deepEqual(
    emitted.map(({ kind }) => kind),
    ['swept'],
  )
})

test('a closed contract is swept again if the venue counts more afterwards: its trades were as outdated as its volume', async () => {
  const { clock, session, emitted } = threeContracts()
  const market = { marketId: 'KX-5', volume: '3.00', status: 'open', endTime: LISTED_MS - 120_000 }
  const catalogue = { of: () => [{ market }], get: () => ({ market }) } as unknown as KalshiCatalogue
  const sweeps = new TradeSweeps({
    ...{ catalogue, clock, rest: {} as KalshiRest, random: () => 0 },
    ...{ isPolling: () => false, tradesOf: () => undefined, emitMarkets() {} },
  })
  const answers = [[{ size: '3.00' }], [{ size: '3.00' }, { size: '2.00' }]]
  sweeps.sweep = async () => answers.shift() as TradeObservation[]
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  Object.assign(market, { volume: '5.00', status: 'closed' })
  assert.equal(sweeps.isSwept('KX-5'), false)
  for (let sweep = 0; sweep < 3; sweep++) await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(sweeps.isSwept('KX-5'), true)
  assert.deepEqual([answers.length, emitted.length], [0, 2])
})

test('a contract that is opened again with a later end is swept again after it', async () => {
  const { clock, session, emitted, sweep, swept } = threeContracts()
  const market = { marketId: 'KX-5', volume: '0.00', status: 'closed', endTime: LISTED_MS - 120_000 }
  const catalogue = { of: () => [{ market }], get: () => ({ market }) } as unknown as KalshiCatalogue
  const sweeps = new TradeSweeps({
    ...{ catalogue, clock, rest: {} as KalshiRest, random: () => 0 },
    ...{ isPolling: () => false, tradesOf: () => undefined, emitMarkets() {} },
  })
  sweeps.sweep = sweep
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(sweeps.isSwept('KX-5'), true)
  Object.assign(market, { status: 'open', endTime: LISTED_MS + 600_000 })
  sweeps.listed('BTC', clock.now())
  assert.equal(sweeps.isSwept('KX-5'), false, 'rounds have it')
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(emitted.length, 1)
  Object.assign(market, { status: 'closed', volume: '5.00' })
  clock.advance(3_600_000)
  // The venue counts a volume that it does not list. This is accepted after half an hour of answers, however long ago
  // the contract closed.
  await sweeps.sweepClosed(session, 'BTC', clock.now())
  assert.equal(emitted.length, 1)
  for (let minute = 0; minute < 30; minute++) {
    clock.advance(60_000)
    await sweeps.sweepClosed(session, 'BTC', clock.now())
  }
  assert.deepEqual([emitted.map(({ kind }) => kind), new Set(swept)], [['swept', 'swept'], new Set(['KX-5'])])
})

test('rounds that are not answered do not make a volume wrong', async () => {
  const { clock, session, emitted } = threeContracts()
  const market = { marketId: 'KX-5', volume: '5.00', status: 'open' }
  const contract = { market, receivedMs: LISTED_MS }
  const catalogue = { of: () => [contract], get: () => contract } as unknown as KalshiCatalogue
  const sweep = async () => (isDown ? undefined : [])
  let isDown = false
  const rounds = createContractRounds({ catalogue, clock, symbols: 1, isSwept: () => false, sweep })
  const round = async () => {
    contract.receivedMs = clock.now()
    rounds.listed('BTC', clock.now())
    const done = rounds.round(session, 'BTC')
    for (let turns = 0; turns < 10; turns++) await Promise.resolve()
    clock.advance(60_000)
    await done
    clock.advance(240_000)
  }
  await round()
  market.volume = '7.00'
  isDown = true
  for (let minutes = 0; minutes < 40; minutes += 5) await round()
  isDown = false
  await round()
  assert.equal(emitted.length, 1, 'the first answer lacks trades')
})
