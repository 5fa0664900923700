/** The proxies, aggregators and multicall contract of the simulated chain, as seen at a time of that chain. */
import { type AssetSymbol, SYMBOLS } from '../../../src/core/symbol.ts'
import { CHAIN, ORACLE_DECIMALS, type Round, type Rounds } from '../world/rounds.ts'
import {
  addressWord,
  decodeAggregate3,
  encodeResults,
  MULTICALL3,
  revertData,
  SELECTORS,
  word,
} from './abi.ts'

/** A revert is an answer of the contract, not a fault of the node. */
interface CallResult {
  readonly data: string
  readonly revert?: string
}

export interface ChainSight {
  /** Time of the newest block. */
  readonly headMs: number
  /** Whether a round was lost because the chain halted. */
  isLost(round: Round): boolean
  /** The round as this node has it now: before a block is replaced, the version in that block. */
  versionOf(symbol: AssetSymbol, round: Round): Round
  /** The number that stays of the one that this node has now; undefined if it has no such round. */
  staying(symbol: AssetSymbol, phase: number, number: number): Round | undefined
  /** The number of the last round of a phase that is over. */
  lastOf(symbol: AssetSymbol, phase: number): number
  answerOf(symbol: AssetSymbol, round: Round): bigint
}

/** A round in a block that is later replaced differs in time by at most this much, and keeps its place in order. */
export const MAX_EARLY_MS = 8_000

const timeOf = ({ updatedAtS }: Round) => updatedAtS * 1_000

const done = (data: string): CallResult => ({ data })
const reverted = (reason: string): CallResult => ({
  data: reason === '' ? '0x' : revertData(reason),
  revert: reason,
})

export type Contracts = ReturnType<typeof createContracts>

export function createContracts(rounds: Rounds) {
  const proxies = new Map(
    SYMBOLS.map((symbol): [string, AssetSymbol] => [CHAIN.proxies[symbol].toLowerCase(), symbol]),
  )

  /** The last round that the chain has and did not lose. */
  function latest(symbol: AssetSymbol, sight: ChainSight): Round | undefined {
    let round = rounds.latest(symbol, sight.headMs + MAX_EARLY_MS)
    while (
      round !== undefined &&
      (sight.isLost(round) || timeOf(sight.versionOf(symbol, round)) > sight.headMs)
    )
      round = rounds.latest(symbol, timeOf(round) - 1_000)
    return round
  }
  function roundData(
    symbol: AssetSymbol,
    known: Round | undefined,
    sight: ChainSight,
    isProxy: boolean,
  ): CallResult {
    const round = known === undefined || sight.isLost(known) ? undefined : sight.versionOf(symbol, known)
    if (round === undefined || timeOf(round) > sight.headMs) return reverted('No data present')
    const id = isProxy ? round.id : BigInt(round.number)
    return done(
      `0x${word(id)}${word(sight.answerOf(symbol, round))}${word(round.startedAtS)}${word(round.updatedAtS)}${word(id)}`,
    )
  }

  /** By address, for the phases that the chain has reached. */
  const aggregators = new Map<string, { readonly symbol: AssetSymbol; readonly phase: number }>()
  const knownPhase = new Map<AssetSymbol, number>()

  function addAggregators(symbol: AssetSymbol, newest: number): void {
    const known = knownPhase.get(symbol) ?? 0
    for (let phase = known + 1; phase <= newest; phase++)
      if (rounds.round(symbol, phase, 1) !== undefined)
        aggregators.set(rounds.aggregator(symbol, phase), { symbol, phase })
    knownPhase.set(symbol, Math.max(known, newest))
  }

  function aggregatorAt(
    address: string,
    headMs: number,
    sight?: ChainSight,
  ): { symbol: AssetSymbol; phase: number } | undefined {
    const wanted = address.toLowerCase()
    const phaseOf = (symbol: AssetSymbol) => {
      const newest = rounds.latest(symbol, headMs)
      return (newest && sight?.versionOf(symbol, newest).phase) ?? newest?.phase ?? 0
    }
    if (!aggregators.has(wanted))
      for (const symbol of proxies.values()) addAggregators(symbol, phaseOf(symbol))
    const found = aggregators.get(wanted)
    // A node that is behind does not have the aggregators of later phases.
    return found !== undefined && found.phase <= phaseOf(found.symbol) ? found : undefined
  }

  function callProxy(symbol: AssetSymbol, data: string, sight: ChainSight): CallResult {
    const argument = BigInt(`0x${data.slice(10, 74) || '0'}`)
    const current = latest(symbol, sight)
    const version = current && sight.versionOf(symbol, current)
    switch (data.slice(0, 10)) {
      case SELECTORS.latestRoundData:
        return roundData(symbol, current, sight, true)
      case SELECTORS.getRoundData: {
        const phase = Number((argument >> 64n) & 0xffffn)
        return roundData(
          symbol,
          sight.staying(symbol, phase, Number(argument & 0xffff_ffff_ffff_ffffn)),
          sight,
          true,
        )
      }
      case SELECTORS.latestRound:
        return done(`0x${word(version?.id ?? 0)}`)
      case SELECTORS.phaseId:
        return done(`0x${word(version?.phase ?? 0)}`)
      case SELECTORS.aggregator:
        return done(`0x${addressWord(rounds.aggregator(symbol, version?.phase ?? 0))}`)
      case SELECTORS.phaseAggregators: {
        const phase = Number(argument)
        const exists = phase <= (version?.phase ?? 0) && rounds.round(symbol, phase, 1) !== undefined
        return done(`0x${exists ? addressWord(rounds.aggregator(symbol, phase)) : word(0)}`)
      }
      default:
        return constants(data)
    }
  }

  function callAggregator(symbol: AssetSymbol, phase: number, data: string, sight: ChainSight): CallResult {
    const current = latest(symbol, sight)
    const version = current && sight.versionOf(symbol, current)
    const lastNumber = version?.phase === phase ? version.number : sight.lastOf(symbol, phase)
    switch (data.slice(0, 10)) {
      case SELECTORS.latestRoundData:
        return roundData(symbol, sight.staying(symbol, phase, lastNumber), sight, false)
      case SELECTORS.getRoundData:
        return roundData(
          symbol,
          sight.staying(symbol, phase, Number(BigInt(`0x${data.slice(10, 74) || '0'}`))),
          sight,
          false,
        )
      case SELECTORS.latestRound:
        return done(`0x${word(lastNumber)}`)
      default:
        return constants(data)
    }
  }
  const call = (to: string, data: string, sight: ChainSight): CallResult => {
    const address = to.toLowerCase()
    if (address === MULTICALL3 && data.startsWith(SELECTORS.aggregate3)) {
      const results: { success: boolean; data: string }[] = []
      for (const one of decodeAggregate3(data)) {
        const result = call(one.to, one.data, sight)
        if (result.revert !== undefined && !one.allowFailure) return reverted('Multicall3: call failed')
        results.push({ success: result.revert === undefined, data: result.data })
      }
      return done(encodeResults(results))
    }
    if (address === MULTICALL3 && data === SELECTORS.getCurrentBlockTimestamp)
      return done(`0x${word(Math.floor(sight.headMs / 1_000))}`)
    const symbol = proxies.get(address)
    if (symbol !== undefined) return callProxy(symbol, data, sight)
    const behind = aggregatorAt(address, sight.headMs, sight)
    if (behind !== undefined) return callAggregator(behind.symbol, behind.phase, data, sight)
    // An address without code returns nothing.
    return done('0x')
  }
  return { call /** The feed and phase behind an aggregator's address. */, aggregatorAt }
}

const constants = (data: string): CallResult =>
  data.startsWith(SELECTORS.decimals) ? done(`0x${word(ORACLE_DECIMALS)}`) : reverted('')
