import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Answer,
  collect,
  fastClock,
  type Loopback,
  startLoopback,
} from '../../../test/predictions/loopback.ts'
import type { Channel } from '../channel.ts'
import type { HistoryPage } from '../venue.ts'
import {
  ANSWER_UPDATED_TOPIC,
  decodeAnswerLog,
  MULTICALL3,
  type Round,
  roundIdOf,
  SELECTORS,
  word,
} from './abi.ts'
import { createChainlink } from './venue.ts'

const START = Date.UTC(2026, 6, 24)
const T = START / 1_000
const PROXY = '0xc907E116054Ad103354f2D350FD2514433D57F6f'
const CHANNEL: Channel = { topic: 'oracle_rounds', symbol: 'BTC' }

interface Node {
  readonly server: Loopback
  /** Newest last. */
  rounds: Round[]
  isDown: boolean
  logRange: number
  /** Returns logs of another contract, or of blocks shifted by this many, instead of those requested. */
  logsOf?: string
  logsShift: number
  hasMulticall: boolean
  /** The error with which requests for logs are refused. */
  logsRefused: string | undefined
  /** Added to the last round number that the node reports for a phase. */
  lastRoundOff: bigint
  /** Time of the newest block. */
  blockS: () => number
}

const round = (number: number, dollars: number, second: number, phase = 7n): Round => ({
  roundId: roundIdOf(phase, BigInt(number)),
  answer: BigInt(dollars) * 100_000_000n,
  updatedAt: T + second,
})
const roundHex = ({ roundId, answer, updatedAt }: Round) =>
  [roundId, BigInt.asUintN(256, answer), BigInt(updatedAt), BigInt(updatedAt), roundId].map(word).join('')

/** A node with one feed behind its proxy, and one aggregator per phase. */
async function startNode(rounds: Round[]): Promise<Node> {
  const node: Omit<Node, 'server'> = {
    rounds,
    isDown: false,
    logRange: 10_000,
    logsShift: 0,
    hasMulticall: true,
    logsRefused: undefined,
    lastRoundOff: 0n,
    // Ahead of every clock in the tests, so that no node is behind.
    blockS: () => T + 86_400,
  }
  const phases = () => [...new Set(node.rounds.map(({ roundId }) => roundId >> 64n))]

  function call(to: string, data: string): string | null {
    const newest = node.rounds.at(-1)
    const argument = data.length > 10 ? BigInt(`0x${data.slice(10)}`) : 0n
    if (to.toLowerCase() === MULTICALL3.toLowerCase() && !node.hasMulticall) return ''
    if (data === SELECTORS.getCurrentBlockTimestamp) return word(node.blockS())
    if (to.toLowerCase() === MULTICALL3.toLowerCase()) return multicall(data.slice(10))
    if (to.toLowerCase() !== PROXY.toLowerCase()) {
      const phase = BigInt(to) - 0xa00n
      const last = node.rounds.findLast(({ roundId }) => roundId >> 64n === phase)
      return data === SELECTORS.latestRound && last !== undefined
        ? word(BigInt.asUintN(64, last.roundId) + node.lastRoundOff)
        : null
    }
    switch (data.slice(0, 10)) {
      case SELECTORS.latestRoundData:
        return newest === undefined ? null : roundHex(newest)
      case SELECTORS.getRoundData: {
        const found = node.rounds.find(({ roundId }) => roundId === argument)
        return found === undefined ? null : roundHex(found)
      }
      case SELECTORS.decimals:
        return word(8)
      case SELECTORS.aggregator:
        return word(0xa00n + (newest === undefined ? 0n : newest.roundId >> 64n))
      case SELECTORS.phaseAggregators:
        return word(phases().includes(argument) ? 0xa00n + argument : 0n)
    }
    return null
  }

  /** Reads aggregate3 word by word, as the contract does. */
  function multicall(body: string): string {
    const number = (at: number) => Number(BigInt(`0x${body.slice(at * 2, at * 2 + 64)}`))
    const count = number(32)
    const results = Array.from({ length: count }, (_, index) => {
      const tuple = 64 + number(64 + index * 32)
      const target = `0x${body.slice(tuple * 2 + 24, tuple * 2 + 64)}`
      const bytes = tuple + number(tuple + 64)
      const data = `0x${body.slice((bytes + 32) * 2, (bytes + 32 + number(bytes)) * 2)}`
      const answer = call(target, data)
      return word(answer === null ? 0 : 1) + word(64) + word((answer ?? '').length / 2) + (answer ?? '')
    })
    let offset = count * 32
    const offsets = results.map((each) => {
      const at = offset
      offset += each.length / 2
      return word(at)
    })
    return word(32) + word(count) + offsets.join('') + results.join('')
  }

  function answer(body: string): Answer {
    if (node.isDown) return { status: 503, body: 'down' }
    const { id, method, params } = JSON.parse(body)
    const reply = (result: unknown) => ({ jsonrpc: '2.0', id, result })
    const refuse = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
    if (method === 'eth_call') {
      const result = call(params[0].to, params[0].data)
      return result === null ? refuse(3, 'execution reverted: No data present') : reply(`0x${result}`)
    }
    if (method === 'eth_getBlockByNumber')
      return reply({ number: '0x2710', timestamp: `0x${node.blockS().toString(16)}` })
    if (method !== 'eth_getLogs') return refuse(-32601, 'no such method')
    if (node.logsRefused !== undefined) return refuse(-32005, node.logsRefused)
    const [{ fromBlock, toBlock, address }] = params
    if (Number(toBlock) - Number(fromBlock) + 1 > node.logRange)
      return refuse(-32005, 'block range is too large')
    if (Number(toBlock) < 10_000) return reply([])
    return reply(
      node.rounds.map(({ roundId, answer: price, updatedAt }) => ({
        address: node.logsOf ?? address,
        blockNumber: `0x${(Number(toBlock) + node.logsShift).toString(16)}`,
        topics: [
          ANSWER_UPDATED_TOPIC,
          `0x${word(BigInt.asUintN(256, price))}`,
          `0x${word(BigInt.asUintN(64, roundId))}`,
        ],
        data: `0x${word(updatedAt)}`,
      })),
    )
  }
  const server = await startLoopback({ answer: ({ body }) => answer(body) })
  return Object.assign(node, { server })
}

async function startNodes(
  t: { after(fn: () => unknown): void },
  count: number,
  rounds: Round[],
): Promise<Node[]> {
  const nodes = await Promise.all(Array.from({ length: count }, () => startNode([...rounds])))
  for (const node of nodes) t.after(() => node.server.close())
  return nodes
}

function venueOf(nodes: readonly Node[], speed = 20, startedMs = START + 100_000) {
  const limits = { rest: { backoff: { baseMs: 1, capMs: 5 } } }
  return createChainlink({
    clock: fastClock(startedMs, speed),
    chainlink: { providers: nodes.map(({ server }) => server.http) },
    limits,
  })
}
const listen = (nodes: readonly Node[]) =>
  collect(venueOf(nodes).live([CHANNEL], { signal: new AbortController().signal }))

test('the newest round is emitted once, missing rounds are filled in order, and nothing goes backwards', async (t) => {
  const nodes = await startNodes(t, 3, [round(5, 100, 0)])
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => received.of('oracle_round').length === 1, 'the first round')
  for (const node of nodes) node.rounds.push(round(6, 101, 30), round(7, 102, 30), round(8, 103, 60))
  await received.until(() => received.of('oracle_round').length === 4, 'the others')
  assert.deepEqual(
    received.of('oracle_round').map((each) => [each.roundId - roundIdOf(7n, 0n), each.price]),
    [
      [5n, '100'],
      [6n, '101'],
      [7n, '102'],
      [8n, '103'],
    ],
  )
  for (const node of nodes) node.rounds.push(round(9, 104, 50))
  const asked = nodes[0]?.server.asked.length ?? 0
  await received.until(() => (nodes[0]?.server.asked.length ?? 0) > asked + 3, 'some more questions')
  assert.equal(received.of('oracle_round').length, 4, 'a newer round with an older time is refused')
  for (const node of nodes) node.rounds.push(round(1, 105, 90, 8n), round(2, 106, 95, 8n))
  await received.until(() => received.of('oracle_round').length === 6, 'the next phase')
})

test('a node that lies is outvoted, whether it changes a price or invents a round', async (t) => {
  const nodes = await startNodes(t, 3, [round(5, 100, 0)])
  const [liar] = nodes
  assert.ok(liar)
  liar.rounds = [round(5, 999, 0)]
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => received.of('oracle_round').length === 1, 'a round')
  liar.rounds.push(round(9, 1_000, 20))
  for (const node of nodes.slice(1)) node.rounds.push(round(6, 101, 30))
  await received.until(() => received.of('oracle_round').length === 2, 'the next round')
  assert.deepEqual(
    received.of('oracle_round').map(({ price }) => price),
    ['100', '101'],
  )
})

test('two nodes that disagree: nothing is emitted until they agree', async (t) => {
  const nodes = await startNodes(t, 2, [round(5, 100, 0)])
  const [first, second] = nodes
  assert.ok(first && second)
  second.rounds = [round(5, 200, 0)]
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => first.server.asked.length > 6, 'some questions')
  assert.equal(received.of('oracle_round').length, 0)
  second.rounds = [round(5, 100, 0)]
  await received.until(() => received.of('oracle_round').length === 1, 'the agreed round')
})

test('too few nodes is a disconnection with its beginning, and the rounds of the gap come after it', async (t) => {
  const nodes = await startNodes(t, 3, [round(5, 100, 0)])
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => received.of('oracle_round').length === 1, 'a round')
  for (const node of nodes.slice(1)) node.isDown = true
  await received.until(() => received.of('disconnected').length === 1, 'the loss')
  assert.ok((received.of('disconnected')[0]?.sinceMs ?? 0) >= START)
  for (const node of nodes) node.rounds.push(round(6, 101, 30), round(7, 102, 60))
  for (const node of nodes) node.isDown = false
  await received.until(() => received.of('oracle_round').length === 3, 'the rounds of the gap')
  const kinds = received.all
    .map(({ kind }) => kind)
    .filter((kind) => kind === 'connected' || kind === 'oracle_round')
  assert.deepEqual(kinds, ['oracle_round', 'connected', 'oracle_round', 'oracle_round'])
})

test('a halted chain is a stale channel, not a flat price', async (t) => {
  const nodes = await startNodes(t, 2, [round(5, 100, 0)])
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => received.of('stale').length === 1, 'the silence', 40_000)
  assert.equal(received.of('oracle_round').length, 1)
})

test('nodes that are behind observe up to their newest blocks; a minute behind they count as lost since then', async (t) => {
  const nodes = await startNodes(t, 3, [round(5, 100, 0)])
  for (const node of nodes.slice(1)) node.blockS = () => T + 80
  const received = listen(nodes)
  t.after(() => received.close())
  await received.until(() => received.of('disconnected').length === 1, 'the loss', 20_000)
  assert.deepEqual(
    [...new Set(received.of('observed_to').map(({ toMs }) => toMs))],
    [(T + 80) * 1_000],
    'one node that is not behind proves nothing',
  )
  assert.equal(received.of('disconnected')[0]?.sinceMs, (T + 80) * 1_000)
  for (const node of nodes) node.blockS = () => T + 86_400
  await received.until(() => received.of('connected').length === 1, 'the nodes')
  await received.until(
    () => (received.of('observed_to').at(-1)?.toMs ?? 0) > (T + 140) * 1_000,
    'the present',
  )
})

test('history ascends over the border of phases, by halving, with and without the contract for many calls', async (t) => {
  const old = Array.from({ length: 300 }, (_, index) => round(index + 1, 50 + index, index * 30, 6n))
  const young = Array.from({ length: 150 }, (_, index) => round(index + 1, 500 + index, 9_000 + index * 30))
  for (const hasMulticall of [true, false]) {
    const nodes = await startNodes(t, 2, [...old, ...young])
    for (const node of nodes) node.hasMulticall = hasMulticall
    const range = { fromMs: (T + 6_000) * 1_000, toMs: (T + 12_000) * 1_000 }
    const pages: HistoryPage[] = []
    const walk = venueOf(nodes, 1_000).history(
      { ...CHANNEL, range },
      { signal: new AbortController().signal },
    )
    for await (const page of walk) pages.push(page)
    const expected = [...old, ...young].filter(
      ({ updatedAt }) => updatedAt >= T + 6_000 && updatedAt < T + 12_000,
    )
    assert.equal(expected.length, 200)
    assert.deepEqual(
      pages.flatMap((page) => page.observations.map((each) => each.key)),
      expected.map(({ roundId }) => String(roundId)),
    )
    const covered = pages.flatMap((page) => page.covered ?? [])
    assert.deepEqual([covered[0]?.fromMs, covered.at(-1)?.toMs], [range.fromMs, range.toMs])
    for (const [index, part] of covered.entries())
      if (index > 0) assert.equal(part.fromMs, covered[index - 1]?.toMs)
  }
})

test('the witness reads the logs of the aggregator behind the proxy, in ranges that the node allows', async (t) => {
  const nodes = await startNodes(t, 1, [round(5, 100, 0), round(6, 101, 30)])
  const [node] = nodes
  assert.ok(node)
  node.logRange = 600
  const witness = await venueOf(nodes).witness(CHANNEL, { signal: new AbortController().signal })
  assert.deepEqual(witness, { newestMs: (T + 30) * 1_000, newestId: 6 })
  const filters = node.server.asked
    .map(({ body }) => JSON.parse(body))
    .filter(({ method }) => method === 'eth_getLogs')
  assert.equal(BigInt(filters[0].params[0].address), 0xa07n)
  assert.equal(filters[0].params[0].topics[0], ANSWER_UPDATED_TOPIC)
})

test('logs of another contract or of other blocks do not fit: the next node is asked', async (t) => {
  const signal = new AbortController().signal
  for (const spoil of [{ logsOf: `0x${'b'.repeat(40)}` }, { logsShift: 1 }, { logsShift: -9_000 }]) {
    const nodes = await startNodes(t, 2, [round(5, 100, 0)])
    const [liar] = nodes
    assert.ok(liar)
    Object.assign(liar, spoil, { rounds: [round(9, 100, 900)] })
    const venue = venueOf(nodes)
    assert.deepEqual(await venue.witness(CHANNEL, { signal }), { newestMs: T * 1_000, newestId: 5 })
    assert.deepEqual(venue.deadLetters.counts(), { misfit: 1 })
  }
})

test('a log carries its price in a topic, signed; the data is only the time', () => {
  const topics = [ANSWER_UPDATED_TOPIC, `0x${word(BigInt.asUintN(256, -5n))}`, `0x${word(9)}`]
  assert.deepEqual(decodeAnswerLog({ topics, data: `0x${word(1_785_142_847)}` }), {
    answer: -5n,
    round: 9n,
    updatedAt: 1_785_142_847,
  })
  assert.equal(decodeAnswerLog({ topics: ['0x00'], data: '0x' }), undefined)
})

test('check reports how many nodes answer; a feed that reverts is unavailable, not a fault', async (t) => {
  const nodes = await startNodes(t, 2, [])
  const { ok, line } = await venueOf(nodes).check({ signal: new AbortController().signal })
  assert.equal(ok, true)
  assert.match(line, /2 of 2 nodes on polygon answer, 2 must agree; BTC UNAVAILABLE/)
})

test('a round of the past on which the nodes do not agree is a gap in what is covered, not a round that never was', async (t) => {
  const rounds = Array.from({ length: 20 }, (_, index) => round(index + 1, 50 + index, index * 30))
  const nodes = await startNodes(t, 2, rounds)
  const [, liar] = nodes
  assert.ok(liar)
  liar.rounds = rounds.map((each, index) => (index === 9 ? { ...each, answer: each.answer + 1n } : each))
  const range = { fromMs: (T + 60) * 1_000, toMs: (T + 500) * 1_000 }
  const signal = new AbortController().signal
  const pages: HistoryPage[] = []
  for await (const page of venueOf(nodes, 1_000).history({ ...CHANNEL, range }, { signal })) pages.push(page)
  assert.deepEqual(
    pages.flatMap((page) => page.covered ?? []),
    [
      { fromMs: range.fromMs, toMs: (T + 8 * 30) * 1_000 },
      { fromMs: (T + 10 * 30) * 1_000, toMs: range.toMs },
    ],
  )
  assert.equal(pages.flatMap((page) => page.observations).length, 14)
})

async function coveredBy(nodes: readonly Node[], fromSecond: number, toSecond: number) {
  const range = { fromMs: (T + fromSecond) * 1_000, toMs: (T + toSecond) * 1_000 }
  const signal = new AbortController().signal
  const pages: HistoryPage[] = []
  const venue = venueOf(nodes, 1, (T + 2_000) * 1_000)
  for await (const page of venue.history({ ...CHANNEL, range }, { signal })) pages.push(page)
  return {
    covered: pages
      .flatMap((page) => page.covered ?? [])
      .map(({ fromMs, toMs }) => [fromMs / 1_000 - T, toMs / 1_000 - T]),
    rounds: pages.flatMap((page) => page.observations).length,
  }
}

test('a phase on whose end the nodes do not agree is not skipped: it is not covered, up to the next phase', async (t) => {
  const old = Array.from({ length: 20 }, (_, index) => round(index + 1, 50 + index, index * 30, 6n))
  const young = Array.from({ length: 20 }, (_, index) => round(index + 1, 500 + index, 600 + index * 30))
  const nodes = await startNodes(t, 2, [...old, ...young])
  const [, liar] = nodes
  assert.ok(liar)
  liar.lastRoundOff = 1n
  assert.deepEqual(await coveredBy(nodes, 300, 900), { covered: [[600, 900]], rounds: 10 })
  liar.lastRoundOff = 0n
  const whole = await coveredBy(nodes, 300, 900)
  assert.deepEqual([whole.covered[0]?.[0], whole.covered.at(-1)?.[1], whole.rounds], [300, 900, 20])
})

test('a last round of a phase that is in dispute does not hide those before it', async (t) => {
  const old = Array.from({ length: 20 }, (_, index) => round(index + 1, 50 + index, index * 30, 6n))
  const young = Array.from({ length: 20 }, (_, index) => round(index + 1, 500 + index, 600 + index * 30))
  const nodes = await startNodes(t, 2, [...old, ...young])
  const [, liar] = nodes
  assert.ok(liar)
  liar.rounds = liar.rounds.map((each) => (each === old[19] ? { ...each, answer: each.answer + 1n } : each))
  const { covered, rounds } = await coveredBy(nodes, 300, 900)
  assert.deepEqual(covered, [
    [300, 540],
    [600, 900],
  ])
  assert.equal(rounds, 19)
})

test('phases that overlap in time are not covered while they do: which one the proxy answered from is unknown', async (t) => {
  const old = Array.from({ length: 40 }, (_, index) => round(index + 1, 50 + index, index * 30, 6n))
  const young = Array.from({ length: 40 }, (_, index) => round(index + 1, 500 + index, 615 + index * 30))
  const nodes = await startNodes(t, 2, [...old, ...young])
  const [behind] = nodes
  assert.ok(behind)
  assert.deepEqual(await coveredBy(nodes, 300, 900), { covered: [[300, 600]], rounds: 11 })
  const inside = { covered: [[1_185, 1_500]], rounds: 11 }
  assert.deepEqual(await coveredBy(nodes, 700, 1_500), inside)
  assert.deepEqual(await coveredBy(nodes, 300, 1_500), {
    covered: [[300, 600], ...inside.covered],
    rounds: 22,
  })
  assert.deepEqual(await coveredBy(nodes, 1_200, 1_500), { covered: [[1_200, 1_500]], rounds: 10 })
  // The old contract continues, and one node does not know its last round yet.
  behind.lastRoundOff = -1n
  assert.deepEqual(await coveredBy(nodes, 700, 1_100), { covered: [], rounds: 0 })
})

test('where the proxy was seen to move on, phases that overlap are covered: the old one up to then, then the new one', async (t) => {
  const old = Array.from({ length: 10 }, (_, index) => round(index + 1, 50 + index, index * 10, 6n))
  const young = Array.from({ length: 10 }, (_, index) => round(index + 1, 500 + index, index * 10 + 5))
  const nodes = await startNodes(t, 2, [...young, ...old])
  const venue = venueOf(nodes)
  const { signal } = new AbortController()
  const received = collect(venue.live([CHANNEL], { signal }))
  t.after(() => received.close())
  await received.until(() => received.of('oracle_round').length > 0, 'the old phase')
  for (const node of nodes) node.rounds = [...old, round(11, 60, 9_000, 6n), ...young, round(11, 510, 105)]
  await received.until(() => received.of('oracle_round').at(-1)?.price === '510', 'the new phase')
  const walk = async (fromSecond: number) => {
    const range = { fromMs: (T + fromSecond) * 1_000, toMs: (T + 105) * 1_000 }
    const pages: HistoryPage[] = []
    for await (const page of venue.history({ ...CHANNEL, range }, { signal })) pages.push(page)
    const covered = pages.flatMap((page) => page.covered ?? [])
    assert.deepEqual([covered[0]?.fromMs, covered.at(-1)?.toMs], [range.fromMs, range.toMs])
    for (const [index, part] of covered.entries())
      if (index > 0) assert.equal(part.fromMs, covered[index - 1]?.toMs)
    return pages.flatMap((page) => page.observations.map((each) => each.venueTimeMs / 1_000 - T))
  }
  assert.deepEqual(await walk(45), [50, 60, 70, 80, 90, 95])
  assert.deepEqual(await walk(92), [95])
})

test('a node that wants fewer questions or is behind is not asked again for shorter ranges', async (t) => {
  for (const refusal of [
    'rate limit exceeded',
    'daily request count exceeded, request rate limited',
    'Too Many Requests',
    'invalid block range params',
  ]) {
    const nodes = await startNodes(t, 1, [round(5, 100, 0)])
    const [node] = nodes
    assert.ok(node)
    node.logsRefused = refusal
    await assert.rejects(venueOf(nodes).witness(CHANNEL, { signal: new AbortController().signal }))
    const asked = node.server.asked.filter(({ body }) => body.includes('eth_getLogs')).length
    assert.equal(asked, 1, refusal)
  }
})

test('rounds that history has read are read again too: all whose blocks may be replaced, of the phase before as well', async (t) => {
  const old = Array.from({ length: 40 }, (_, index) => round(index + 1, 50, index * 2, 6n))
  const young = round(1, 500, 95)
  const nodes = await startNodes(t, 2, [...old, young])
  const venue = venueOf(nodes, 60)
  const { signal } = new AbortController()
  const received = collect(venue.live([CHANNEL], { signal }))
  t.after(() => received.close())
  await received.until(() => received.of('oracle_round').length > 0, 'the newest round')
  const range = { fromMs: T * 1_000, toMs: (T + 95) * 1_000 }
  for await (const page of venue.history({ ...CHANNEL, range }, { signal })) assert.ok(page.covered)
  const replaced = [round(1, 60, 1, 6n), round(40, 61, 79, 6n)]
  for (const node of nodes) node.rounds = [...replaced, ...old.slice(1, -1), young]
  const isThere = ({ roundId, answer, updatedAt }: Round) =>
    received
      .of('oracle_round')
      .some(
        (each) =>
          each.roundId === roundId &&
          each.price === String(answer / 100_000_000n) &&
          each.updatedMs === updatedAt * 1_000,
      )
  await received.until(() => replaced.every(isThere), 'the replaced rounds')
})
