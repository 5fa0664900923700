/** One JSON-RPC provider of the simulated chain. Providers are a block or two apart, as in reality. */
import { hash } from 'node:crypto'
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import type { Fault, FaultSwitches, ForkKind } from '../../server/faults.ts'
import { parseObject } from '../../server/json.ts'
import {
  type Flaws,
  type Misreading,
  ok,
  otherSymbol,
  type RestReply,
  type RestService,
} from '../../server/service.ts'
import type { RestRequest } from '../../server/transport.ts'
import { CHAIN, type Round, type Rounds } from '../world/rounds.ts'
import { ANSWER_UPDATED, quantity, SELECTORS, word } from './abi.ts'
import { type ChainSight, type Contracts, createContracts, MAX_EARLY_MS } from './contracts.ts'

const MAX_LOG_BLOCKS = 2_000
const PRUNED_AFTER_MS = 36 * 3_600_000
const LIE_PERCENT = 103n
/** How the answer in a replaced block differs from the final one. */
const orphanedBy = ({ number, answer }: Round): bigint =>
  number % 3 === 0 ? 0n : number % 3 === 1 ? answer / 500n : -answer / 400n

class RpcError extends Error {
  readonly code: number
  readonly data: string | undefined
  constructor(code: number, message: string, data?: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The chain as one provider sees it now. */
interface View extends ChainSight {
  readonly rounds: Rounds
  readonly contracts: Contracts
  readonly head: number
}

export function createProvider(options: {
  rounds: Rounds
  faults: FaultSwitches
  now: () => number
  provider: number
}): RestService {
  const { rounds, provider } = options
  const contracts = createContracts(rounds)
  const view = (lagMs: number): View => {
    const sight = sightOf({ ...options, now: () => options.now() - lagMs })
    return { ...sight, rounds, contracts, head: rounds.blockAt(sight.headMs) }
  }

  function answer(method: unknown, params: readonly unknown[], lagMs: number): unknown {
    switch (method) {
      case 'eth_getBlockByNumber':
        return blockOf(view(lagMs), params[0])
      case 'eth_call':
        return callOf(view(lagMs), params)
      case 'eth_getLogs':
        return logsOf(view(lagMs), params[0] as Record<string, unknown> | undefined)
      default:
        throw new RpcError(-32601, `the method ${String(method)} does not exist/is not available`)
    }
  }

  function handle(request: RestRequest, { lagMs }: Flaws): RestReply {
    if (request.method !== 'POST') return { status: 405, body: 'method not allowed' }
    const body = parseObject(request.body)
    if (body === undefined) return ok(failure(null, new RpcError(-32700, 'parse error')))
    const { id = null, method, params } = body
    try {
      if (typeof method !== 'string') throw new RpcError(-32600, 'invalid request')
      return ok({ jsonrpc: '2.0', id, result: answer(method, Array.isArray(params) ? params : [], lagMs) })
    } catch (error) {
      return ok(failure(id, error instanceof RpcError ? error : new RpcError(-32602, 'invalid argument')))
    }
  }

  return {
    venue: 'ethereum',
    name: 'rpc',
    provider,
    handle,
    misread(request, as) {
      const body = parseObject(request.body)
      if (!Array.isArray(body?.params)) return undefined
      const [asked, ...rest] = body.params as unknown[]
      if (typeof asked !== 'object' || asked === null) return undefined
      const question = asked as Record<string, unknown>
      const other =
        body.method === 'eth_getLogs'
          ? misreadFilter({ rounds, contracts, nowMs: options.now() }, question, as)
          : body.method === 'eth_call'
            ? misreadCall(question, as)
            : undefined
      return other === undefined
        ? undefined
        : { ...request, body: JSON.stringify({ ...body, params: [other, ...rest] }) }
    },
    refuse: (status) => ({
      status,
      body: failure(
        null,
        status === 429 ? new RpcError(-32005, 'rate limit exceeded') : new RpcError(-32603, 'internal error'),
      ),
    }),
  }
}

/** Logs of other blocks or of another feed; in both cases the logs say to which they belong. */
function misreadFilter(
  { rounds, contracts, nowMs }: { rounds: Rounds; contracts: Contracts; nowMs: number },
  filter: Record<string, unknown>,
  as: Misreading,
): Record<string, unknown> | undefined {
  if (as !== 'other-symbol') {
    const shift = Math.round(as.offsetMs / CHAIN.blockMs)
    const moved = ['fromBlock', 'toBlock'].flatMap((name) => {
      const number = Number(filter[name])
      return Number.isSafeInteger(number) ? [[name, quantity(Math.max(0, number + shift))] as const] : []
    })
    return moved.length === 0 ? undefined : { ...filter, ...Object.fromEntries(moved) }
  }
  const feed = typeof filter.address === 'string' ? contracts.aggregatorAt(filter.address, nowMs) : undefined
  if (feed === undefined) return undefined
  return { ...filter, address: rounds.aggregator(otherSymbol(feed.symbol), feed.phase) }
}

const ROUND_ASKED = new RegExp(`(${SELECTORS.getRoundData.slice(2)})([0-9a-f]{64})`, 'g')
const PROXIES = new RegExp(SYMBOLS.map((symbol) => CHAIN.proxies[symbol].slice(2)).join('|'), 'gi')

/**
 * Other rounds, which state their id, or rounds of another feed, which do not; as a single call or inside a multicall.
 */
function misreadCall(call: Record<string, unknown>, as: Misreading): Record<string, unknown> | undefined {
  const text = JSON.stringify(call)
  const other =
    as === 'other-symbol'
      ? text.replace(PROXIES, (address) => {
          const symbol = SYMBOLS.find((each) => isSameText(CHAIN.proxies[each].slice(2), address))
          return symbol === undefined ? address : CHAIN.proxies[otherSymbol(symbol)].slice(2).toLowerCase()
        })
      : text.replace(ROUND_ASKED, (_, selector: string, round: string) => {
          const moved = BigInt(`0x${round}`) + BigInt(Math.round(as.offsetMs / CHAIN.roundMs))
          return `${selector}${word(moved)}`
        })
  return other === text ? undefined : JSON.parse(other)
}

const isSameText = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

const failure = (id: unknown, { code, message, data }: RpcError) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data === undefined ? {} : { data }) },
})

/** How the newest blocks differ at this instant from those that stay. */
function forkAt({ fork = 'early', startedAtMs, endsAtMs }: Fault, nowMs: number): Exclude<ForkKind, 'twice'> {
  if (fork !== 'twice') return fork
  return endsAtMs === null || nowMs < (startedAtMs + endsAtMs) / 2 ? 'early' : 'late'
}

/** The chain as far as the faults let it be seen. */
function sightOf(options: {
  rounds: Rounds
  faults: FaultSwitches
  now: () => number
  provider: number
}): ChainSight {
  const { rounds, faults, provider } = options
  const halts = faults
    .history('chain-halt', 'ethereum')
    .filter((fault) => fault.provider === undefined || fault.provider === provider)
  const endOf = (fault: Fault) => fault.endsAtMs ?? Number.POSITIVE_INFINITY
  const nowMs = options.now() - provider * CHAIN.blockMs
  const fork = faults
    .history('reorg', 'ethereum')
    .find(
      (fault) =>
        (fault.provider === undefined || fault.provider === provider) &&
        nowMs >= fault.startedAtMs &&
        nowMs < endOf(fault),
    )
  const isLost = ({ updatedAtS }: Round) =>
    halts.some(
      (fault) =>
        fault.provider === undefined &&
        updatedAtS * 1_000 > fault.startedAtMs &&
        updatedAtS * 1_000 < endOf(fault),
    )
  const halt = halts.find((fault) => nowMs >= fault.startedAtMs && nowMs < endOf(fault))
  const differs = fork === undefined ? undefined : forkAt(fork, nowMs)
  const sinceFork = (symbol: AssetSymbol, { startedAtMs }: Fault, toMs: number) =>
    rounds.between(symbol, startedAtMs, toMs).filter((round) => !isLost(round))
  const forked = (symbol: AssetSymbol) => {
    if (fork === undefined || differs !== 'phase') return undefined
    const first = rounds.between(symbol, fork.startedAtMs, fork.startedAtMs + 2 * CHAIN.roundMs)[0]
    const before = first && rounds.latest(symbol, first.updatedAtS * 1_000 - 1)
    return before && { first, before }
  }
  return {
    headMs: rounds.blockTimeMs(rounds.blockAt(halt === undefined ? nowMs : halt.startedAtMs)),
    // If the whole chain stood still, it never has rounds from that time; a single blind provider gets them later.
    isLost,
    versionOf(symbol, round) {
      if (fork === undefined || isLost(round)) return round
      if (differs === 'phase') {
        if (round.updatedAtS * 1_000 < fork.startedAtMs) return round
        const number = sinceFork(symbol, fork, round.updatedAtS * 1_000 + 1_000).length
        const phase = (forked(symbol)?.before.phase ?? round.phase) + 1
        const id = (BigInt(phase) << 64n) | BigInt(number)
        return { ...round, id, phase, number, answer: round.answer + orphanedBy(round) }
      }
      const byMs = CHAIN.blockMs * (1 + (round.number % (MAX_EARLY_MS / CHAIN.blockMs)))
      const updatedAtS = round.updatedAtS + (differs === 'late' ? byMs : -byMs) / 1_000
      if (Math.min(updatedAtS, round.updatedAtS) * 1_000 < fork.startedAtMs) return round
      return { ...round, updatedAtS, answer: round.answer + orphanedBy(round) }
    },
    staying(symbol, phase, number) {
      const own = forked(symbol)
      if (fork === undefined || own === undefined || phase < own.before.phase)
        return rounds.round(symbol, phase, number)
      if (phase === own.before.phase)
        return number <= own.before.number ? rounds.round(symbol, phase, number) : undefined
      if (phase > own.before.phase + 1) return undefined
      return sinceFork(symbol, fork, nowMs + 1)[number - 1]
    },
    lastOf(symbol, phase) {
      const own = forked(symbol)
      return own?.before.phase === phase ? own.before.number : rounds.lastOf(symbol, phase)
    },
    answerOf(symbol, round) {
      const lies = faults.find('lying-provider', 'ethereum', { channel: 'rest', symbol, provider })
      return lies === undefined ? round.answer : (round.answer * LIE_PERCENT) / 100n
    },
  }
}

function blockNumber({ head }: View, tag: unknown): number {
  if (tag === undefined || tag === 'latest' || tag === 'pending') return head
  if (tag === 'safe' || tag === 'finalized') return head - 64
  if (tag === 'earliest') return 0
  const number = Number(tag)
  if (typeof tag !== 'string' || !Number.isSafeInteger(number))
    throw new RpcError(-32602, 'invalid argument: block tag')
  return number
}

const hashOf = (what: string, number: number | string): string =>
  `0x${hash('sha256', `${CHAIN.chainId}|${what}|${number}`)}`

function blockOf(view: View, tag: unknown): unknown {
  const number = blockNumber(view, tag)
  if (number > view.head || number < 0) return null
  return {
    number: quantity(number),
    hash: hashOf('block', number),
    parentHash: hashOf('block', number - 1),
    timestamp: quantity(Math.floor(view.rounds.blockTimeMs(number) / 1_000)),
    nonce: '0x0000000000000000',
    difficulty: '0x0',
    gasLimit: '0x1c9c380',
    gasUsed: '0xe4e1c0',
    miner: '0x0000000000000000000000000000000000000000',
    extraData: '0x',
    logsBloom: `0x${'0'.repeat(512)}`,
    mixHash: hashOf('mix', number),
    receiptsRoot: hashOf('receipts', number),
    sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
    size: '0x5dc',
    stateRoot: hashOf('state', number),
    transactions: [],
    transactionsRoot: hashOf('transactions', number),
    uncles: [],
    baseFeePerGas: '0x6fc23ac00',
  }
}

function logsOf(view: View, filter: Record<string, unknown> | undefined): unknown[] {
  const { rounds, headMs } = view
  if (filter === undefined) throw new RpcError(-32602, 'missing value for required argument 0')
  const [from, to] = [blockNumber(view, filter.fromBlock), blockNumber(view, filter.toBlock)]
  if (from > to || from > view.head) throw new RpcError(-32000, 'invalid block range')
  if (to - from > MAX_LOG_BLOCKS)
    throw new RpcError(-32005, `block range is too large, maximum is ${MAX_LOG_BLOCKS} blocks`)
  if (rounds.blockTimeMs(from) < headMs - PRUNED_AFTER_MS)
    throw new RpcError(-32000, 'History has been pruned for this block')
  const topics = Array.isArray(filter.topics) ? filter.topics : []
  const first = topics[0] as string | readonly string[] | null | undefined
  if (first !== undefined && first !== null && !first.includes(ANSWER_UPDATED)) return []
  const addresses = (Array.isArray(filter.address) ? filter.address : [filter.address]).filter(
    (one) => typeof one === 'string',
  )
  const [fromMs, toMs] = [rounds.blockTimeMs(from), Math.min(rounds.blockTimeMs(to + 1), headMs + 1)]
  return addresses
    .flatMap((address) => {
      const feed = view.contracts.aggregatorAt(address, headMs)
      if (feed === undefined) return []
      return rounds
        .between(feed.symbol, fromMs, toMs)
        .filter((round) => round.phase === feed.phase && !view.isLost(round))
        .map((round) => logOf(view, feed.symbol, address.toLowerCase(), round))
    })
    .sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber))
}

function logOf(view: View, symbol: AssetSymbol, address: string, round: Round) {
  const number = view.rounds.blockAt(round.updatedAtS * 1_000)
  return {
    address,
    topics: [ANSWER_UPDATED, `0x${word(view.answerOf(symbol, round))}`, `0x${word(round.number)}`],
    data: `0x${word(round.updatedAtS)}`,
    blockNumber: quantity(number),
    transactionHash: hashOf('transmit', `${address} ${round.number}`),
    transactionIndex: '0x1',
    blockHash: hashOf('block', number),
    logIndex: '0x7',
    removed: false,
  }
}

function callOf(view: View, params: readonly unknown[]): string {
  const { to, data, input } = (params[0] ?? {}) as { to?: unknown; data?: unknown; input?: unknown }
  const bytes = data ?? input
  if (typeof to !== 'string' || typeof bytes !== 'string' || !/^0x[0-9a-fA-F]*$/.test(bytes))
    throw new RpcError(-32602, 'invalid argument 0')
  const number = blockNumber(view, params[1])
  if (number > view.head) throw new RpcError(-32000, 'header not found')
  const { revert, data: result } = view.contracts.call(to, bytes, {
    ...view,
    headMs: view.rounds.blockTimeMs(number),
  })
  if (revert === undefined) return result
  throw new RpcError(3, revert === '' ? 'execution reverted' : `execution reverted: ${revert}`, result)
}
