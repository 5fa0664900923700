/**
 * The unspent outputs of an address according to a node, which returns all of them at once. The answer is kept as bytes
 * and read one output at a time. The bytes are reused until the chain moves, for a second at most.
 */

import { isAmount } from '../../../core/chain/is-amount.ts'
import { ApiError } from '../../../core/errors.ts'
import { type Clock, elapsedMs, runAfter } from '../../../kit/clock.ts'
import { type JsonLimits, parseExact } from '../../../kit/exact-json.ts'
import { elementsOf, hasList } from '../../../kit/json-slices.ts'
import { Lru } from '../../../kit/lru.ts'
import { createSingleflight } from '../../../kit/singleflight.ts'
import type { ChainStore } from '../../../store/chain.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

export interface Utxo {
  readonly txId: string
  readonly index: number
  readonly amount: number | bigint
  readonly scriptPublicKey: string
  readonly blockDaaScore: number | bigint
  readonly isCoinbase: boolean
  readonly covenantId: string | null
}

export interface UtxoReader {
  /** In the node's order, which is arbitrary. Throws if there are more than `MAX_UTXOS`. */
  of(address: string): AsyncGenerator<Utxo>
  /** The same, however many there are. */
  all(address: string): AsyncGenerator<Utxo>
  /** All outputs, from the given node if it can answer, and the node that did. Throws if none answers in time. */
  onNode(
    address: string,
    node: string,
    withinMs: number,
  ): Promise<{ readonly node: string; readonly utxos: AsyncGenerator<Utxo> }>
}

/** Per address. An output takes about 350 bytes in the node's answer. */
export const MAX_UTXOS = 100_000
const MAX_ANSWER_BYTES = 48 * 1024 * 1024
const CACHED_BYTES = 16 * 1024 * 1024
const MAX_CACHED_ANSWER_BYTES = 4 * 1024 * 1024
const MAX_CACHED = 1_000
/** For one output: the script of the largest takes 250 kB in hexadecimal. */
const UTXO_LIMITS: JsonLimits = { maxDepth: 8, maxChars: 1024 * 1024, maxValues: 1_000 }
/** Limits the age of an answer, because an index that has stopped says nothing about the node's chain. */
const MAX_AGE_MS = 1_000

interface Answer {
  readonly address: string
  readonly bytes: Buffer
  readonly node: string
  /** The last chain block when the answer was requested. */
  readonly at: string | undefined
  readonly askedMs: number
}

export function createUtxoReader(deps: {
  upstreams: Pick<Upstreams, 'callRaw' | 'nodes'>
  index: Pick<ChainStore, 'checkpoint'>
  clock: Clock
  waitMs: number
}): UtxoReader {
  const { upstreams, index, clock, waitMs } = deps
  const cache = new Lru<string, Answer>({
    maxEntries: MAX_CACHED,
    maxWeight: CACHED_BYTES,
    weigh: ({ bytes }) => bytes.length,
  })
  const flights = createSingleflight<Answer>()

  /** An answer is not fresh if its node has since been found to lag, or worse. */
  function isFresh({ node, askedMs }: Answer): boolean {
    if (elapsedMs(clock) - askedMs >= MAX_AGE_MS) return false
    return upstreams.nodes().some(({ name, state }) => name === node && state === 'healthy')
  }

  async function answerFor(address: string, stayOn?: string): Promise<Answer> {
    const at = (await index.checkpoint())?.hash
    const cached = cache.get(address)
    const isOfNode = stayOn === undefined || cached?.node === stayOn
    if (cached !== undefined && isOfNode && at !== undefined && cached.at === at && isFresh(cached))
      return cached
    return flights.run(`${at} ${address} ${stayOn ?? ''}`, async () => {
      const askedMs = elapsedMs(clock)
      const outcome = await upstreams.callRaw(
        'getUtxosByAddresses',
        { addresses: [address] },
        { deadlineMs: waitMs, stayOn },
      )
      if (!outcome.ok) throw upstreamError(outcome.failure)
      const { bytes, node } = outcome
      // It must not pass for an address without unspent outputs.
      if (!(await hasList(bytes, 'entries'))) throw unusableAnswer(node, 'unspent outputs')
      const isSmall = bytes.length <= MAX_CACHED_ANSWER_BYTES
      // The answer may be a view on a larger read from the socket, which must not be kept alive.
      const answer = { address, bytes: isSmall ? Buffer.from(bytes) : bytes, node, at, askedMs }
      if (isSmall) cache.set(address, answer)
      else cache.delete(address)
      return answer
    })
  }

  return {
    async *of(address) {
      const answer = await answerFor(address)
      const { bytes } = answer
      if (bytes.length > MAX_ANSWER_BYTES) throw tooMany()
      let count = 0
      for await (const text of elementsOf(bytes, 'entries')) {
        if (++count > MAX_UTXOS) throw tooMany()
        yield readUtxo(text, answer)
      }
    },
    async *all(address) {
      yield* utxosIn(await answerFor(address))
    },
    async onNode(address, node, withinMs) {
      // Only this caller stops waiting, because the answer is shared with callers that may have more time.
      const late = Promise.withResolvers<never>()
      const detail = `no answer within ${withinMs} ms`
      const cancel = runAfter(clock, withinMs, () => late.reject(upstreamError({ kind: 'timeout', detail })))
      try {
        const answer = await Promise.race([answerFor(address, node), late.promise])
        return { node: answer.node, utxos: utxosIn(answer) }
      } finally {
        cancel()
      }
    },
  }
}

async function* utxosIn(answer: Answer): AsyncGenerator<Utxo> {
  for await (const text of elementsOf(answer.bytes, 'entries')) yield readUtxo(text, answer)
}

function tooMany(): ApiError {
  const message = `address has more than ${MAX_UTXOS.toLocaleString('en')} unspent outputs: a node cannot list them in parts.`
  return new ApiError('invalid_param', message, { param: 'address', reason: 'too_many_utxos' })
}

function readUtxo(text: string, { address: asked, node }: Answer): Utxo {
  const read = parseExact(text, UTXO_LIMITS)
  if (!read.ok) throw unusableAnswer(node, read.message)
  const { address, outpoint, utxoEntry } = (read.value ?? {}) as {
    address?: string | null
    outpoint?: { transactionId?: unknown; index?: unknown }
    utxoEntry?: Partial<Record<Exclude<keyof Utxo, 'txId' | 'index'>, unknown>>
  }
  const { transactionId: txId, index } = outpoint ?? {}
  const { amount, scriptPublicKey, blockDaaScore, isCoinbase, covenantId = null } = utxoEntry ?? {}
  const isFitting =
    // A node may leave the address out.
    (address ?? asked) === asked &&
    typeof txId === 'string' &&
    Number.isSafeInteger(index) &&
    isAmount(amount) &&
    isAmount(blockDaaScore) &&
    typeof scriptPublicKey === 'string' &&
    (covenantId === null || typeof covenantId === 'string')
  if (!isFitting) throw unusableAnswer(node, 'unspent outputs')
  return {
    ...{ txId, index: index as number, amount, scriptPublicKey, blockDaaScore },
    ...{ isCoinbase: isCoinbase === true, covenantId },
  }
}
