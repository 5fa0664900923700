/**
 * Laws 6 and 7 for covenants and tokens: their events and their state in the index must be what the accepted
 * transactions of the followed chain result in, by the rules of the protocols.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ChainStores } from '../../../src/store/chain.ts'
import type { ChainArchive } from './archive.ts'
import type { LogLaws } from './log-laws.ts'
import type { Krc20Truth, TransactionTruth, TruthOf } from './transaction-truth.ts'

const MAX_ROWS = 1_000
/** The fees that the protocol requires to be paid to the miners. */
const DEPLOY_FEE = 100_000_000_000n
const MINT_FEE = 100_000_000n
/** Ticks used by the simulated traffic that the protocol has reserved. */
const RESERVED = new Set(['NACHO'])

const PARSED_KINDS: Readonly<Record<string, string>> = {
  covenant_execution: 'covenant_execution',
  krc20: 'krc20_activity',
  native_asset: 'native_asset_transfer',
  scriptlang: 'scriptlang_event',
}

type Move = Readonly<Record<string, unknown>>

interface Token {
  readonly max: bigint
  readonly lim: bigint
  minted: bigint
  readonly balances: Map<string, bigint>
}

/** Accepted transactions in order, grouped by the segments between gaps. */
function acceptedOf(laws: LogLaws, archive: ChainArchive, truthOf: TruthOf): TransactionTruth[][] {
  const inChain = new Map(archive.chain().map((block) => [block.hash, block]))
  return laws
    .segments()
    .map(({ chain }) =>
      chain.flatMap((hash) => (inChain.get(hash)?.accepted ?? []).flatMap(({ txId }) => truthOf(txId) ?? [])),
    )
}

export async function compareTokens(
  stores: ChainStores,
  laws: LogLaws,
  archive: ChainArchive,
  truthOf: TruthOf,
): Promise<string[]> {
  // The missing transactions may have concerned any of them.
  if (laws.gaps().some(({ reason }) => reason === 'unreadable')) return []
  const segments = acceptedOf(laws, archive, truthOf)
  const last = segments.at(-1) ?? []
  const { moves, tokens } = replay(last)
  return [
    ...compareEvents(laws, segments, moves),
    ...(await compareCovenants(stores, segments)),
    ...(await compareHolders(stores, tokens)),
  ]
}

function compareEvents(
  laws: LogLaws,
  segments: readonly (readonly TransactionTruth[])[],
  moves: ReadonlyMap<string, Move>,
): string[] {
  const wrong: string[] = []
  const last = segments.length - 1
  const covenants = new Map<string, number>()
  const transfers = new Map<string, Move>()
  for (const { kind, txId, segment, data } of laws.accepted()) {
    if (kind !== 'token_transfer') {
      const key = `${segment} ${kind} ${data.covenant_id} ${txId}`
      covenants.set(key, (covenants.get(key) ?? 0) + 1)
    } else if (segment === last) {
      if (transfers.has(txId)) wrong.push(`6 two token_transfer of ${txId} stand`)
      transfers.set(txId, data)
    }
  }
  for (const [segment, transactions] of segments.entries())
    for (const { txId, tags, covenants: own } of transactions) {
      for (const tag of tags) {
        const kind = PARSED_KINDS[tag]
        if (kind !== undefined && !laws.hasParsed(kind, txId))
          wrong.push(`6 ${txId} was accepted without a ${kind}`)
      }
      for (const { id, spent, created } of own)
        for (const [kind, cells] of [
          ['covenant_spent', spent],
          ['covenant_created', created],
        ] as const) {
          const key = `${segment} ${kind} ${id} ${txId}`
          const count = covenants.get(key) ?? 0
          covenants.delete(key)
          if (count !== Math.sign(cells.length)) wrong.push(`6 ${count} ${kind} of ${id} by ${txId} stand`)
        }
    }
  for (const key of covenants.keys())
    if (key.startsWith(`${last} `)) wrong.push(`6 ${key} stands and is not in the chain`)
  for (const [txId, expected] of moves) {
    const found = transfers.get(txId)
    transfers.delete(txId)
    for (const [name, value] of Object.entries(expected))
      if (!isDeepStrictEqual(found?.[name], value)) {
        wrong.push(
          `6 token_transfer of ${txId}: ${name} is ${JSON.stringify(found?.[name])}, not ${JSON.stringify(value)}`,
        )
        break
      }
  }
  for (const txId of transfers.keys()) wrong.push(`6 a token_transfer of ${txId} stands, which moved nothing`)
  return wrong
}

async function compareCovenants(
  stores: ChainStores,
  segments: readonly (readonly TransactionTruth[])[],
): Promise<string[]> {
  const wrong: string[] = []
  const steps = new Map<string, string[]>()
  const unspent = new Map<string, Map<string, number>>()
  for (const [segment, transactions] of segments.entries())
    for (const { txId, covenants } of transactions)
      for (const { id, spent, created } of covenants) {
        steps.set(id, [txId, ...(steps.get(id) ?? [])])
        // Only outputs since the last gap count, because older ones may have been spent in it.
        const own = unspent.get(id) ?? new Map<string, number>()
        unspent.set(id, own)
        if (segment < segments.length - 1) continue
        for (const point of spent) own.delete(`${point.txId} ${point.index}`)
        for (const { index, amount_sompi } of created) own.set(`${txId} ${index}`, amount_sompi)
      }
  for (const [id, txIds] of steps) {
    const found = (await stores.chain.covenantSteps({ covenantId: id, limit: MAX_ROWS })).steps.map(
      (step) => step.txId,
    )
    // After a gap it is unknown whether what was accepted before it still is.
    const known = segments.length === 1 ? found : found.filter((txId) => txIds.includes(txId))
    if (!isDeepStrictEqual(known, txIds))
      wrong.push(`7 covenant ${id} has the steps ${found.join()}, on the chain ${txIds.join()}`)
    const { utxos } = await stores.chain.covenantUtxos({ covenantId: id, limit: MAX_ROWS })
    const held = new Map(utxos.map(({ txId, index, amount }) => [`${txId} ${index}`, Number(amount)]))
    if (!isDeepStrictEqual(held, unspent.get(id)))
      wrong.push(
        `7 covenant ${id} has the outputs ${[...held]}, on the chain ${[...(unspent.get(id) ?? [])]}`,
      )
  }
  return wrong
}

async function compareHolders(
  stores: ChainStores,
  tokens: ReadonlyMap<string, Token | 'unknown'>,
): Promise<string[]> {
  const wrong: string[] = []
  for (const [tick, token] of tokens) {
    if (token === 'unknown') continue
    const { holders } = await stores.chain.tokenHolders({ token: tick, limit: MAX_ROWS })
    const found = Object.fromEntries(
      holders.map(({ key, value }) => [
        key.slice(key.lastIndexOf(' ') + 1),
        (JSON.parse(value) as { balance: string }).balance,
      ]),
    )
    const expected = Object.fromEntries(
      [...token.balances].flatMap(([holder, amount]) => (amount > 0n ? [[holder, String(amount)]] : [])),
    )
    if (!isDeepStrictEqual(found, expected))
      wrong.push(`7 ${tick} is held by ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`)
    const stored = JSON.parse((await stores.chain.token(tick)) ?? '{}') as {
      krc20?: { minted: string }
      holders?: number
    }
    if (stored.krc20?.minted !== String(token.minted) || stored.holders !== Object.keys(expected).length)
      wrong.push(`7 of ${tick} ${stored.krc20?.minted} are minted for ${stored.holders}, not ${token.minted}`)
  }
  return wrong
}

/** Everything since the last gap, because the history of tokens before it is not known. */
function replay(transactions: readonly TransactionTruth[]) {
  const tokens = new Map<string, Token | 'unknown'>()
  const moves = new Map<string, Move>()
  for (const truth of transactions) {
    const { txId, krc20, covenants } = truth
    const move = krc20 === undefined ? undefined : applyKrc20(tokens, krc20, truth.fee ?? 0n)
    if (move !== undefined) moves.set(txId, { ...move, form: 'krc20' })
    for (const { id, spent, created } of covenants) {
      const states = spent.flatMap(({ program }) => (program?.kind === 'token' ? [program] : []))
      if (states.length === 0 || created.length === 0) continue
      moves.set(txId, { token_id: id, operation: 'transition', valid: true })
    }
  }
  return { moves, tokens }
}

/** Undefined if the operation has no effect. */
function applyKrc20(
  tokens: Map<string, Token | 'unknown'>,
  { operation, sender }: Krc20Truth,
  fee: bigint,
): Move | undefined {
  const { op, amt = '0', to = sender, max = '0', lim = '0' } = operation
  const tick = operation.tick.toUpperCase()
  const common = { token_id: tick, operation: op, valid: true }
  const token = tokens.get(tick)
  if (op === 'deploy') {
    if (token !== undefined || fee < DEPLOY_FEE || RESERVED.has(tick)) return undefined
    tokens.set(tick, { max: BigInt(max), lim: BigInt(lim), minted: 0n, balances: new Map() })
    return { ...common, from: [], to: [] }
  }
  if (token === undefined || token === 'unknown') {
    tokens.set(tick, 'unknown')
    return { ...common, valid: null }
  }
  const { balances } = token
  const add = (holder: string | null, amount: bigint) =>
    balances.set(holder ?? '', (balances.get(holder ?? '') ?? 0n) + amount)
  if (op === 'mint') {
    const left = token.max - token.minted
    const amount = left < token.lim ? left : token.lim
    if (fee < MINT_FEE || amount === 0n) return undefined
    token.minted += amount
    add(to, amount)
    return { ...common, from: [], to: [{ holder: to, amount: String(amount) }] }
  }
  const amount = BigInt(amt)
  if (to === sender || (balances.get(sender ?? '') ?? 0n) < amount) return undefined
  add(sender, -amount)
  add(to, amount)
  return {
    ...common,
    from: [{ holder: sender, amount: amt, signed: true }],
    to: [{ holder: to, amount: amt }],
  }
}
