/**
 * All engines get the same random writes and must give the same answers, including the order of an address's rows,
 * which is part of the served cursors.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/fakes/manual-clock.ts'
import type { AcceptedTransaction, ChainStores, ChainWrite, TransactionRecord } from '../chain.ts'
import type { CovenantChange } from '../covenants.ts'
import type { StoredEvent } from '../events.ts'
import { address, block, event, hash, payment, readAll } from './chain-engine.ts'
import { type Random, seeded } from './engine.ts'
import { ENGINES } from './engines.ts'

const SEEDS = process.env.TAPELINE_SOAK ? 30 : 1
const WRITES = 60
const ADDRESSES = 6
const KINDS = ['block_added', 'utxos_changed', 'mempool_entry']

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`${ENGINES.map(({ name }) => name).join(', ')}: the same writes give the same answers (seed ${seed})`, async () => {
    const places = ENGINES.map((engine) => engine.create())
    const clock = manualClock(0)
    const stores = places.map((place) => place.open(clock).chain('test'))
    const next = writesOf(seeded(seed))
    try {
      for (let step = 1; step <= WRITES; step++) {
        clock.set(step * 10)
        const write = next(step)
        const [first, ...others] = await Promise.all(stores.map((store) => store.chain.write(write)))
        for (const other of others) assert.deepEqual(other, first)
        if (step % 20 === 0) await prune(stores)
        if (step % 10 === 0) await compare(stores, seeded(step))
      }
    } finally {
      await Promise.all(stores.map((store) => store.close()))
      await Promise.all(places.map((place) => place.remove()))
    }
  })
}

/** A chain that grows, is reorganised and starts again, with a mempool beside it. */
function writesOf(random: Random): (step: number) => ChainWrite {
  let chain: { number: number; txs: number[] }[] = []
  let blocks = 0
  let txs = 0
  const numbers = (below: number) => Array.from({ length: random.below(below) }, (_, i) => i)
  const events = (atMs: number) =>
    numbers(6).map(() =>
      event(
        random.pick(KINDS),
        numbers(3).map(() => address(random.below(ADDRESSES))),
        atMs,
      ),
    )
  const transaction = (tx: number, eventCount: number): AcceptedTransaction => {
    const one = payment(tx, random.below(ADDRESSES), BigInt(random.below(1e9)))
    const effects = [one.effects[0], ...payment(tx, random.below(ADDRESSES), 3n).effects].flatMap((effect) =>
      effect === undefined
        ? []
        : { ...effect, event: eventCount > 0 && random.below(3) > 0 ? random.below(eventCount) : null },
    )
    const fee = random.below(4) === 0 ? null : BigInt(random.below(1_000))
    if (random.below(2) === 0) return { ...one, effects, fee }
    return { ...one, effects, fee, covenants: [covenantChange(tx)] }
  }
  /** Founds, continues or burns one of a few covenants. */
  const covenantChange = (tx: number): CovenantChange => ({
    covenantId: hash(900 + (tx % 3)),
    text: `{"kind":"continuation","tx":${tx}}`,
    spent: numbers(3).map((index) => ({ txId: hash(random.below(tx)), index })),
    created: numbers(3).map((index) => ({
      index,
      amount: BigInt(random.below(1e9)),
      scriptPublicKey: '0000aa',
      address: random.below(3) === 0 ? null : address(random.below(ADDRESSES)),
    })),
  })
  const someTx = () => (txs > 0 && random.below(3) === 0 ? 1 + random.below(txs) : ++txs)

  return (step) => {
    const atMs = step * 10
    const expects = chain.length === 0 ? null : hash(chain.at(-1)?.number ?? 0)
    const newEvents = events(atMs)
    const isStart = chain.length === 0 || random.below(25) === 0
    if (isStart) {
      const start = block(++blocks)
      const gap = {
        atMs,
        fromHash: expects ?? hash(0),
        fromBlueScore: 0,
        fromTimeMs: 0,
        toHash: start.hash,
        toTimeMs: start.timeMs,
        reason: 'pruned',
      } as const
      chain = [{ number: blocks, txs: [] }]
      return { atMs, expects, start, gaps: expects === null ? [] : [gap], events: newEvents }
    }
    const removed = random.below(4) === 0 ? chain.splice(1 + random.below(chain.length)) : []
    const back = removed.flatMap((one) => one.txs)
    const confirmed = new Set(chain.flatMap((one) => one.txs))
    const added = numbers(4).map(() => {
      const number = ++blocks
      const ids = new Set([...back.splice(0, random.below(3)), ...numbers(4).map(someTx)])
      const own = [...ids].filter((tx) => !confirmed.has(tx))
      for (const tx of own) confirmed.add(tx)
      chain.push({ number, txs: own })
      return block(
        number,
        own.map((tx) => transaction(tx, newEvents.length)),
      )
    })
    const entered = [...new Set(numbers(4).map(someTx))].map((tx): TransactionRecord => {
      const { blockHash: _, blockTimeMs: __, ...record } = transaction(tx, 0)
      return record
    })
    return {
      atMs,
      expects,
      removed: removed.reverse().map((one) => hash(one.number)),
      added,
      entered,
      dropped: numbers(3).map(() => ({
        txId: hash(1 + random.below(txs + 1)),
        replacedBy: random.below(2) === 0 ? null : hash(random.below(txs + 1)),
      })),
      seen: numbers(4).map(() => hash(random.below(50))),
      events: newEvents,
    }
  }
}

async function prune(stores: readonly ChainStores[]): Promise<void> {
  const keep = { maxTransactionAgeMs: 400, maxDroppedAgeMs: 100, chainBlocks: 40, maxSeenAgeMs: 200 }
  for (const { chain } of stores) while ((await chain.prune(keep)).more);
}

async function compare(stores: readonly ChainStores[], random: Random): Promise<void> {
  const hashes = Array.from({ length: 150 }, (_, i) => hash(i))
  const afterMs = random.below(6_000)
  const filters = [
    { kinds: [random.pick(KINDS)] },
    { kinds: KINDS, addresses: [address(random.below(ADDRESSES)), address(random.below(ADDRESSES))] },
  ]
  const answers = await Promise.all(
    stores.map(async ({ chain, events }) => {
      const logId = await events.logId()
      const known = (list: readonly StoredEvent[]) => list.map((one) => withoutLog(one, logId))
      const tip = (await chain.checkpoint())?.hash ?? ''
      return {
        checkpoint: tip,
        coverage: [await chain.coverageFromMs(), await chain.indexedFromMs()],
        gaps: await chain.gaps(),
        below: [await chain.chainBlockBelow(2), await chain.chainBlockBelow(1_000)],
        above: await Promise.all(hashes.slice(0, 60).map((one) => chain.chainAbove(one))),
        followed: await chain.followed(hashes),
        confirmations: (await chain.confirmedBy(await chain.followed(hashes.toReversed()))).map((one) => ({
          ...one,
          events: one.events.map((each) => withoutLog(each, logId)),
        })),
        known: [...(await chain.known(hashes))].sort(),
        unseen: await chain.unseen(hashes),
        pending: await chain.pending(1_000),
        outputs: await chain.outputs(hashes.map((txId) => ({ txId, index: 0 }))),
        transactions: await Promise.all(hashes.map((txId) => chain.transaction(txId))),
        pages: await Promise.all(
          Array.from({ length: ADDRESSES }, (_, i) => chain.addressPage({ address: address(i), limit: 40 })),
        ),
        covenants: await Promise.all(
          [900, 901, 902].map(async (n) => ({
            first: await chain.firstCovenantStep(hash(n)),
            steps: await chain.covenantSteps({ covenantId: hash(n), limit: 20, before: 60 * 2 ** 20 }),
            utxos: await chain.covenantUtxos({ covenantId: hash(n), limit: 20 }),
            later: await chain.covenantUtxos({
              covenantId: hash(n),
              limit: 3,
              after: { txId: hash(20), index: 0 },
            }),
          })),
        ),
        held: await Promise.all(
          Array.from({ length: ADDRESSES }, (_, i) =>
            chain.addressCovenants({
              ...{ address: address(i), limit: 5 },
              ...(i % 2 === 0 ? {} : { after: { covenantId: hash(901), txId: hash(9), index: 1 } }),
            }),
          ),
        ),
        moved: await Promise.all(
          Array.from({ length: ADDRESSES }, (_, i) =>
            chain.addressMoved({ address: address(i), afterMs, limit: 1 + i * 9 }),
          ),
        ),
        log: known(await readAll(events)),
        filtered: known(await readAll(events, { filters })),
        bounds: await events.bounds(),
        before: await Promise.all([0, 15, 100, 401, 1e6].map((timeMs) => events.seqBefore(timeMs))),
      }
    }),
  )
  const [first, ...others] = answers
  for (const other of others) assert.deepEqual(other, first)
}

/** Each log has its own name, which is part of the ids of its events. */
function withoutLog<T>(value: T, logId: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll(`evt_${logId}`, 'evt_')) as T
}
