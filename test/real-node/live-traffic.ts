/**
 * The users of the simulated node on a real one: payments, KRC-20 commits and reveals, covenants, contracts and tokens,
 * each with real signatures. The coins are those that the node announces.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { addressOfScript } from '../../sandbox/node/consensus/address.ts'
import { outpointKey, type Tx, type UtxoEntry } from '../../sandbox/node/consensus/model.ts'
import { UtxoSet } from '../../sandbox/node/consensus/utxo-set.ts'
import { createRandom } from '../../sandbox/node/random.ts'
import { DEFAULT_MIX, Traffic } from '../../sandbox/node/traffic/traffic.ts'
import { type Coin, createWallet, pay, type Wallet } from '../../sandbox/node/traffic/wallet.ts'
import { plainClient } from '../fakes/plain-node-client.ts'
import { until } from '../until.ts'
import { mineBlocks } from './mine.ts'
import type { RealNode } from './real-node.ts'
import { createTokenTraffic } from './token-traffic.ts'

const PREFIX = 'kaspasim'
const MATURITY = 1_000
/** A coin returns seconds later when its spend is accepted, and never if the spend is lost in a reorganisation. */
const COINS_EACH = 96
/** With more inputs a transaction has more mass than a mempool accepts. */
const COINS_AT_ONCE = 24
/** A block has room for about a dozen transactions that fund users. */
const FUNDING_BLOCKS = 12
const COIN_SOMPI = 4_000_000_000n
const TOKEN_SHARE = 0.1
const IN_FLIGHT = 8

export interface LiveTraffic {
  /** Where blocks should pay to. */
  readonly minerAddress: string
  readonly users: readonly { readonly name: string; readonly address: string }[]
  /** Submits one transaction of any kind; its id, or undefined where there was nothing to spend or it was refused. */
  next(): Promise<string | undefined>
  /** A transaction that no mempool accepts: it pays to a script that has no address. */
  odd(): { readonly id: string; readonly transaction: Record<string, unknown> }
  /** Addresses of several keys that use tokens. */
  readonly several: readonly string[]
  readonly refusals: string[]
  readonly submitted: Set<string>
  close(): void
}

export async function startLiveTraffic(
  node: RealNode,
  seed = 7,
  userCount = 12,
  tokenShare = TOKEN_SHARE,
): Promise<LiveTraffic> {
  const utxos = new UtxoSet()
  const spent = new Set<string>()
  const random = createRandom(seed)
  const users = Array.from({ length: userCount }, (_, i) => createWallet(seed, `user ${i}`))
  const miner = createWallet(seed, 'miner')
  const addressOf = (script: string) => addressOfScript(PREFIX, script) ?? ''
  let daaScore = 0n
  const client = await plainClient(node.url, (_method, params) => {
    const score = (params.VirtualDaaScoreChanged as { virtualDaaScore: number } | undefined)?.virtualDaaScore
    if (score !== undefined) daaScore = BigInt(score)
    const { added = [], removed = [] } = (params.UtxosChanged ?? {}) as Record<string, AnnouncedUtxo[]>
    // An output that is only dated anew comes in both lists.
    for (const [created, list] of [
      [false, removed],
      [true, added],
    ] as const)
      for (const utxo of list) {
        const { key, entry } = readUtxo(utxo)
        const known = utxos.get(key)
        if (known !== undefined) utxos.apply({ key, entry: known, created: false })
        if (created) utxos.apply({ key, entry, created: true })
      }
  })
  await client.call('subscribe', { UtxosChanged: { addresses: [] } })
  await client.call('subscribe', { VirtualDaaScoreChanged: {} })
  // An answer does not wait behind notifications.
  const sender = await plainClient(node.url, () => {})

  const refusals: string[] = []
  const submitted = new Set<string>()
  async function submit(tx: Tx): Promise<string | undefined> {
    const keys = tx.inputs.map(({ previousOutpoint }) => outpointKey(previousOutpoint))
    for (const key of keys) spent.add(key)
    const answer = await sender.ask('submitTransaction', { transaction: wireOf(tx), allowOrphan: false })
    if (answer.error === undefined) {
      submitted.add(tx.id)
      return tx.id
    }
    refusals.push(answer.error.message)
    for (const key of keys) spent.delete(key)
    return undefined
  }

  await mineBlocks(node, addressOf(miner.script), MATURITY + Math.ceil(userCount * COINS_EACH * 1.2))
  const mature = () => matureCoins(utxos, miner, daaScore)
  await until('mature coins', () => mature().length >= userCount * COINS_EACH)
  for (const user of users)
    for (let funded = 0; funded < COINS_EACH; funded += COINS_AT_ONCE)
      await submit(
        funding(
          mature().filter(({ key }) => !spent.has(key)),
          user,
          miner,
        ),
      )
  await mineBlocks(node, addressOf(miner.script), FUNDING_BLOCKS)
  await until('funded users', () => users.every(({ script }) => utxos.ofScript(script).size >= COINS_EACH))

  const traffic = new Traffic({ users, miners: [miner], mix: DEFAULT_MIX })
  const world = {
    ledger: {
      utxos,
      rules: { coinbaseMaturity: MATURITY },
      get virtual() {
        return { daaScore }
      },
    },
    mempool: { isSpent: (key: string) => spent.has(key) },
    random,
    addressOf,
  }
  const tokens = createTokenTraffic(users, miner, {
    random,
    addressOf,
    coinsOf: (owner, atLeast) =>
      [...utxos.ofScript(owner.script)].flatMap(([key, entry]) => {
        const isMature = !entry.isCoinbase || entry.blockDaaScore + BigInt(MATURITY) < daaScore
        return isMature && !spent.has(key) && entry.amount >= atLeast ? [{ key, entry, owner }] : []
      }),
    depthOf(txId) {
      const entry = utxos.get(outpointKey({ transactionId: txId, index: 0 }))
      return entry && daaScore - entry.blockDaaScore
    },
    unspentAt: (script) => [...utxos.ofScript(script)].find(([key]) => !spent.has(key)),
  })
  return {
    minerAddress: addressOf(miner.script),
    users: users.map(({ name, script }) => ({ name, address: addressOf(script) })),
    async next() {
      const tx = (random.chance(tokenShare) ? tokens.next() : undefined) ?? traffic.next(world)
      return tx && submit(tx)
    },
    odd() {
      const [coin] = mature().filter(({ key }) => !spent.has(key))
      const outputs = [{ value: 1_000_000_000n, scriptPublicKey: '000051', covenant: null }]
      const tx = coin && pay({ version: 0, coins: [coin], outputs, change: miner.script, feerate: 150 })
      if (tx === undefined) throw new Error('no coin is mature')
      return { id: tx.id, transaction: wireOf(tx) }
    },
    several: tokens.several,
    refusals,
    submitted,
    close() {
      client.close()
      sender.close()
    },
  }
}

/** Sends this many transactions a second until it is stopped. */
export function keepSending(traffic: LiveTraffic, perSecond: number) {
  let isStopped = false
  const startedMs = performance.now()
  const waiting = new Set<Promise<unknown>>()
  const run = async () => {
    for (let sent = 0; !isStopped; sent++) {
      const dueMs = startedMs + (sent * 1_000) / perSecond - performance.now()
      if (dueMs > 0) await wait(dueMs)
      if (waiting.size >= IN_FLIGHT) await Promise.race(waiting)
      // A node that is down accepts none.
      const one: Promise<unknown> = traffic
        .next()
        .catch(() => wait(200))
        .finally(() => waiting.delete(one))
      waiting.add(one)
    }
    await Promise.all(waiting)
  }
  const running = run()
  return {
    async stop() {
      isStopped = true
      await running
    },
  }
}

interface AnnouncedUtxo {
  readonly outpoint: { readonly transactionId: string; readonly index: number }
  readonly utxoEntry: {
    readonly amount: number | bigint
    readonly scriptPublicKey: string
    readonly blockDaaScore: number | bigint
    readonly isCoinbase: boolean
    readonly covenantId?: string | null
  }
}

function readUtxo({ outpoint, utxoEntry }: AnnouncedUtxo): { key: string; entry: UtxoEntry } {
  return {
    key: outpointKey(outpoint),
    entry: {
      amount: BigInt(utxoEntry.amount),
      scriptPublicKey: utxoEntry.scriptPublicKey,
      blockDaaScore: BigInt(utxoEntry.blockDaaScore),
      isCoinbase: utxoEntry.isCoinbase,
      covenantId: utxoEntry.covenantId ?? null,
    },
  }
}

function matureCoins(utxos: UtxoSet, owner: Wallet, daaScore: bigint): Coin[] {
  return [...utxos.ofScript(owner.script)]
    .filter(([, entry]) => entry.blockDaaScore + BigInt(MATURITY) < daaScore)
    .map(([key, entry]) => ({ key, entry, owner }))
}

/** Several coins for one user, from as many of the miner's. */
function funding(coins: readonly Coin[], user: Wallet, miner: Wallet): Tx {
  const tx = pay({
    ...{ version: 0, coins: coins.slice(0, COINS_AT_ONCE), change: miner.script, feerate: 150 },
    outputs: Array.from({ length: COINS_AT_ONCE }, () => ({
      ...{ value: COIN_SOMPI, scriptPublicKey: user.script, covenant: null },
    })),
  })
  if (tx === undefined) throw new Error('the coins do not pay for it')
  return tx
}

function wireOf({ id: _id, hash: _hash, computeMass: _mass, ...body }: Tx): Record<string, unknown> {
  return { ...body, mass: body.storageMass }
}
