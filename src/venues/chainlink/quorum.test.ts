/** How far the nodes together know that there is no newer round, while some of them are behind and one may lie. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CALL_BLOCK_TIME, type Call, SELECTORS, word } from './abi.ts'
import type { Provider } from './provider.ts'
import { createQuorum, type NoneProof } from './quorum.ts'

const PROXY = '0xc907E116054Ad103354f2D350FD2514433D57F6f'
const T = Date.UTC(2026, 6, 24) / 1_000

interface NodeState {
  /** The number of its newest round; null for a feed that reverts. */
  readonly newest: number | null
  readonly price?: number
  /** Seconds after T. */
  readonly block?: number
  /** The node has no contract that returns the time of its block. */
  readonly withoutTime?: boolean
  /** A round that it has lost. */
  readonly lacks?: number
}

function nodeOf(
  { newest, price = 100, block, withoutTime = false, lacks }: NodeState,
  index: number,
): Provider {
  const roundHex = (number: number) => `0x${[number, price, T, T + number, number].map(word).join('')}`
  const call = ({ data }: Call): string | null => {
    if (data === CALL_BLOCK_TIME.data)
      return block === undefined || withoutTime ? null : `0x${word(T + block)}`
    if (newest === null) return null
    if (data === SELECTORS.latestRoundData) return roundHex(newest)
    const number = Number(BigInt(`0x${data.slice(10)}`))
    return number <= newest && number !== lacks ? roundHex(number) : null
  }
  return {
    name: `node ${index}`,
    call: async (asked) => call(asked),
    callAll: async (calls) => calls.map(call),
    answerLogs: async () => [],
    async block() {
      if (block === undefined) throw new Error('no block')
      return { number: 1, timeMs: (T + block) * 1_000, roundTripMs: 1 }
    },
  }
}

/** The number of the agreed round and the seconds up to which it is known to be the newest. */
async function ask(states: readonly NodeState[], after = 0) {
  const quorum = createQuorum(states.map(nodeOf))
  const [answer] = await quorum.newest([{ proxy: PROXY, after: BigInt(after) }], new AbortController().signal)
  const knownToMs = answer?.knownToMs
  return [
    answer?.round == null ? null : Number(answer.round.roundId),
    knownToMs === undefined ? undefined : knownToMs / 1_000 - T,
  ]
}

test('nodes that agree on the newest round know of no other up to the second newest block', async () => {
  const states = [
    { newest: 30, block: 42 },
    { newest: 30, block: 40 },
    { newest: 30, block: 44 },
  ]
  assert.deepEqual(await ask(states), [30, 42])
  assert.deepEqual(await ask(states, 30), [null, 42])
})

test('where most nodes are behind, what they agree on is the newest round of their blocks only', async () => {
  const states = [
    { newest: 300, block: 310 },
    { newest: 30, block: 40 },
    { newest: 30, block: 38 },
  ]
  assert.deepEqual(await ask(states), [30, 38])
})

test('a round that one node has and another disputes is none, and hides that there is one', async () => {
  const states = [
    { newest: 60, block: 70 },
    { newest: 60, block: 70, price: 999 },
    { newest: 30, block: 40 },
  ]
  assert.deepEqual(await ask(states), [30, undefined])
  assert.deepEqual(await ask(states, 30), [null, undefined])
})

test('a feed that reverts has no newer round', async () => {
  const states = [
    { newest: null, block: 70 },
    { newest: null, block: 72 },
  ]
  assert.deepEqual(await ask(states), [null, 70])
})

test('a node whose contract does not know the time is asked for its block; one that tells neither has rounds only', async () => {
  const states = [
    { newest: 30, block: 40, withoutTime: true },
    { newest: 30, block: 44, withoutTime: true },
  ]
  assert.deepEqual(await ask(states), [30, 40])
  assert.deepEqual(await ask([{ newest: 30, block: 40 }, { newest: 30 }]), [30, undefined])
})

test('nodes that have no round of a feed that has some do not know that there is no newer one', async () => {
  assert.deepEqual(
    await ask([
      { newest: null, block: 42 },
      { newest: null, block: 40 },
    ]),
    [null, 40],
  )
  assert.deepEqual(
    await ask(
      [
        { newest: null, block: 42 },
        { newest: null, block: 40 },
      ],
      30,
    ),
    [null, undefined],
  )
})

test('that there is no such round is believed of nodes whose blocks reach it, and whose newest is an earlier one', async () => {
  const read = async (states: readonly NodeState[], proof: NoneProof) => {
    const [round] = await createQuorum(states.map(nodeOf)).rounds(
      PROXY,
      [30n],
      new AbortController().signal,
      proof,
    )
    return round
  }
  const fromBlockMs = (T + 40) * 1_000
  const [at40, at42, at39] = [40, 42, 39].map((block) => ({ newest: 29, block })) as [
    NodeState,
    NodeState,
    NodeState,
  ]
  assert.equal(await read([at40, at42], { fromBlockMs }), null)
  assert.equal(await read([at39, at42], { fromBlockMs }), undefined, 'one is behind')
  assert.equal(await read([at39, at42, at40], { fromBlockMs }), null)
  assert.equal(await read([at40, { newest: 29 }], { fromBlockMs }), undefined, 'one tells no block')
  assert.equal(await read([at40, at42], { fromBlockMs, isNewest: true }), null)
  const forgetful = { newest: 31, block: 42, lacks: 30 }
  assert.equal(
    await read([at40, forgetful], { fromBlockMs, isNewest: true }),
    undefined,
    'it has a later one',
  )
})

test('nodes whose newest round is an earlier one, in newer blocks, do not tell how far the known one is the newest', async () => {
  const replaced = { newest: 29, block: 44 }
  assert.deepEqual(await ask([replaced, replaced], 30), [null, undefined])
  assert.deepEqual(await ask([replaced, { newest: 30, block: 40 }, { newest: 30, block: 42 }], 30), [
    null,
    40,
  ])
})

test('a node is asked for the state of the block that it told, because others may answer behind its address', async () => {
  const asked: (number | undefined)[] = []
  const behind = (index: number, timeMs: number): Provider => ({
    ...nodeOf({ newest: 30, block: 40, withoutTime: true }, index),
    async callAll(calls, _signal, at) {
      asked.push(at)
      return calls.map(() => null)
    },
    async call(_call, _signal, at) {
      asked.push(at)
      return word(30)
    },
    block: async () => ({ number: 7, timeMs, roundTripMs: 1 }),
  })
  const { signal } = new AbortController()
  const fromBlockMs = T * 1_000
  const quorum = createQuorum([behind(0, fromBlockMs), behind(1, fromBlockMs), behind(2, fromBlockMs - 1)])
  await quorum.rounds(PROXY, [30n], signal, { fromBlockMs })
  // The first time, nobody knows yet that the nodes do not tell the time of the block with the answers.
  assert.deepEqual(asked.splice(0), [undefined, undefined, undefined, 7, 7, 7])
  const answers = await quorum.each({ target: PROXY, data: SELECTORS.latestRound }, signal, fromBlockMs)
  assert.equal(answers.length, 2, 'the block of the third is too old')
  assert.deepEqual(asked.splice(0), [7, 7])
  await quorum.call({ target: PROXY, data: SELECTORS.latestRound }, signal, fromBlockMs)
  assert.deepEqual(asked, [7, 7])
})
