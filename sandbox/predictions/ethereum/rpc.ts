/** One JSON-RPC provider of the simulated chain. Providers are a block or two apart, as in life. */
import { createHash } from 'node:crypto'
import type { AssetSymbol } from '../../../src/core/symbol.ts'
import type { Fault, Faults } from '../server/faults.ts'
import { ok, type Reply, type Request, type Service } from '../server/http.ts'
import type { Round, Rounds } from '../world/rounds.ts'
import { ANSWER_UPDATED, quantity, word } from './abi.ts'
import { type ChainSight, createContracts } from './contracts.ts'

export const MAX_LOG_BLOCKS = 2_000
const PRUNED_AFTER_MS = 36 * 3_600_000
const MAX_BATCH = 100
const LIE_PERCENT = 103n

class RpcError extends Error {
  readonly code: number
  readonly data: string | undefined
  constructor(code: number, message: string, data?: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

export function createProvider(options: {
  rounds: Rounds
  faults: Faults
  now: () => number
  provider: number
}): Service {
  const { rounds, faults, now, provider } = options
  const { facts } = rounds
  const contracts = createContracts(rounds)
  const concerns = (fault: Fault) => fault.provider === undefined || fault.provider === provider

  const halts = () => faults.history('chain-halt', 'ethereum').filter(concerns)
  const endOf = (fault: Fault) => fault.endsAtMs ?? Number.POSITIVE_INFINITY
  function headMs(): number {
    const nowMs = now() - provider * facts.blockMs
    const halt = halts().find((fault) => nowMs >= fault.startedAtMs && nowMs < endOf(fault))
    return rounds.blockTimeMs(rounds.blockAt(halt === undefined ? nowMs : halt.startedAtMs))
  }
  /** A whole chain that stood still has no rounds of that time, ever; one blind provider has them later. */
  const isLost = (round: Round): boolean => {
    const ms = round.updatedAtS * 1_000
    return halts().some(
      (fault) => fault.provider === undefined && ms > fault.startedAtMs && ms < endOf(fault),
    )
  }
  function answerOf(symbol: AssetSymbol, round: Round): bigint {
    const lies = faults.find('lying-provider', 'ethereum', { channel: 'rest', symbol, provider })
    return lies === undefined ? round.answer : (round.answer * LIE_PERCENT) / 100n
  }
  const sightAt = (timeMs: number): ChainSight => ({ headMs: timeMs, isLost, answerOf })

  function blockNumber(tag: unknown): number {
    const head = rounds.blockAt(headMs())
    if (tag === undefined || tag === 'latest' || tag === 'pending') return head
    if (tag === 'safe' || tag === 'finalized') return head - 64
    if (tag === 'earliest') return 0
    const number = Number(tag)
    if (typeof tag !== 'string' || !Number.isSafeInteger(number))
      throw new RpcError(-32602, 'invalid argument: block tag')
    return number
  }
  const hashOf = (what: string, number: number | string) =>
    `0x${createHash('sha256').update(`${facts.chainId}|${what}|${number}`).digest('hex')}`

  function block(tag: unknown): unknown {
    const number = blockNumber(tag)
    if (number > rounds.blockAt(headMs()) || number < 0) return null
    return {
      number: quantity(number),
      hash: hashOf('block', number),
      parentHash: hashOf('block', number - 1),
      timestamp: quantity(Math.floor(rounds.blockTimeMs(number) / 1_000)),
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

  function logs(filter: Record<string, unknown> | undefined): unknown[] {
    if (filter === undefined) throw new RpcError(-32602, 'missing value for required argument 0')
    const [from, to, head] = [
      blockNumber(filter.fromBlock),
      blockNumber(filter.toBlock),
      rounds.blockAt(headMs()),
    ]
    if (from > to || from > head) throw new RpcError(-32000, 'invalid block range')
    if (to - from > MAX_LOG_BLOCKS)
      throw new RpcError(-32005, `block range is too large, maximum is ${MAX_LOG_BLOCKS} blocks`)
    if (rounds.blockTimeMs(from) < headMs() - PRUNED_AFTER_MS)
      throw new RpcError(-32000, 'History has been pruned for this block')
    const topics = Array.isArray(filter.topics) ? filter.topics : []
    const first = topics[0] as string | readonly string[] | null | undefined
    if (first !== undefined && first !== null && !first.includes(ANSWER_UPDATED)) return []
    const addresses = (Array.isArray(filter.address) ? filter.address : [filter.address]).filter(
      (one) => typeof one === 'string',
    )
    return addresses
      .flatMap((address) => {
        const behind = contracts.aggregatorAt(address, headMs())
        if (behind === undefined) return []
        return rounds
          .between(
            behind.symbol,
            rounds.blockTimeMs(from),
            Math.min(rounds.blockTimeMs(to + 1), headMs() + 1),
          )
          .filter((round) => round.phase === behind.phase && !isLost(round))
          .map((round) => ({ symbol: behind.symbol, address: address.toLowerCase(), round }))
      })
      .map((entry) => logOf(entry))
      .sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber))
  }
  function logOf({ symbol, address, round }: { symbol: AssetSymbol; address: string; round: Round }) {
    const number = rounds.blockAt(round.updatedAtS * 1_000)
    return {
      address,
      topics: [ANSWER_UPDATED, `0x${word(answerOf(symbol, round))}`, `0x${word(round.number)}`],
      data: `0x${word(round.updatedAtS)}`,
      blockNumber: quantity(number),
      transactionHash: hashOf('transmit', `${address} ${round.number}`),
      transactionIndex: '0x1',
      blockHash: hashOf('block', number),
      logIndex: '0x7',
      removed: false,
    }
  }

  function call(params: readonly unknown[]): string {
    const { to, data, input } = (params[0] ?? {}) as { to?: unknown; data?: unknown; input?: unknown }
    const bytes = data ?? input
    if (typeof to !== 'string' || typeof bytes !== 'string' || !/^0x[0-9a-fA-F]*$/.test(bytes))
      throw new RpcError(-32602, 'invalid argument 0')
    const number = blockNumber(params[1])
    if (number > rounds.blockAt(headMs())) throw new RpcError(-32000, 'header not found')
    const result = contracts.call(to, bytes, sightAt(rounds.blockTimeMs(number)))
    if (result.revert !== undefined)
      throw new RpcError(
        3,
        result.revert === '' ? 'execution reverted' : `execution reverted: ${result.revert}`,
        result.data,
      )
    return result.data
  }

  function answer(method: unknown, params: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return quantity(facts.chainId)
      case 'net_version':
        return String(facts.chainId)
      case 'eth_blockNumber':
        return quantity(rounds.blockAt(headMs()))
      case 'eth_getBlockByNumber':
        return block(params[0])
      case 'eth_call':
        return call(params)
      case 'eth_getLogs':
        return logs(params[0] as Record<string, unknown> | undefined)
      case 'eth_syncing':
        return false
      default:
        throw new RpcError(-32601, `the method ${String(method)} does not exist/is not available`)
    }
  }

  function one(value: unknown): unknown {
    const {
      id = null,
      method,
      params,
    } = (value ?? {}) as { id?: unknown; method?: unknown; params?: unknown }
    try {
      if (typeof method !== 'string') throw new RpcError(-32600, 'invalid request')
      return { jsonrpc: '2.0', id, result: answer(method, Array.isArray(params) ? params : []) }
    } catch (error) {
      const known = error instanceof RpcError ? error : new RpcError(-32602, 'invalid argument')
      return {
        jsonrpc: '2.0',
        id,
        error: {
          code: known.code,
          message: known.message,
          ...(known.data === undefined ? {} : { data: known.data }),
        },
      }
    }
  }

  function handle(request: Request): Reply {
    if (request.method !== 'POST') return { status: 405, body: 'method not allowed' }
    let body: unknown
    try {
      body = JSON.parse(request.body)
    } catch {
      return ok({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'parse error' } })
    }
    if (!Array.isArray(body)) return ok(one(body))
    if (body.length > MAX_BATCH)
      return ok({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch too large' } })
    return ok(body.map(one))
  }

  return {
    venue: 'ethereum',
    name: 'rpc',
    provider,
    handle,
    refuse: (status) => ({
      status,
      body: {
        jsonrpc: '2.0',
        id: null,
        error: {
          code: status === 429 ? -32005 : -32603,
          message: status === 429 ? 'rate limit exceeded' : 'internal error',
        },
      },
    }),
  }
}
