/**
 * What several nodes agree on. A round is accepted when a quorum of them reports the same price and time for it. A node
 * that is ahead is asked for the round by its number, and one that lies is outvoted.
 */
import type { DeadLetters } from '../dead-letter.ts'
import { VenueError } from '../rest/rest-client.ts'
import {
  CALL_BLOCK_TIME,
  type Call,
  callGetRound,
  decodeBlockTimeMs,
  decodeRound,
  isSameRound,
  type Round,
  readRound,
  SELECTORS,
} from './abi.ts'
import type { Provider } from './provider.ts'

export type Quorum = ReturnType<typeof createQuorum>

export interface NewestRound {
  /** Agreed on and newer than the known one; null if there is none. */
  readonly round: Round | null
  /**
   * No newer round exists before this time: a quorum of nodes has blocks up to here and knows of none. Undefined
   * without a quorum.
   */
  readonly knownToMs: number | undefined
}

/** When the answer of a node that it has no such round is believed. */
export interface NoneProof {
  /** It comes from a block of this time or later; an earlier one may not have the round yet. */
  readonly fromBlockMs: number
  /** The node's newest round must be an earlier one: a number that was given is missing only at the end. */
  readonly isNewest?: boolean
}

interface NodeAnswer {
  readonly values: readonly (string | null)[]
  /** Time of the block that the answers are of; undefined if the node does not report it. */
  readonly blockMs: number | undefined
}

/** What a node reports about one feed. */
interface Report {
  readonly provider: Provider
  /** Null if the feed has no round, undefined for an answer that cannot be read. */
  readonly value: Round | null | undefined
  /** Time of the block that the report is based on; undefined if the node does not report it. */
  readonly blockMs: number | undefined
}

export function createQuorum(
  providers: readonly Provider[],
  wanted = 2,
  misfits?: { readonly deadLetters: DeadLetters; now(): number },
) {
  const needed = Math.max(1, Math.min(wanted, providers.length))
  const disputed: Record<string, number> = {}
  /** Nodes whose multicall contract does not return the block time, so that the block itself is requested. */
  const withoutBlockTime = new Set<Provider>()
  let answering = 0

  const dispute = (name: string) => {
    disputed[name] = (disputed[name] ?? 0) + 1
  }

  /** Returns the answers of the nodes that answered. */
  async function askAll<T>(ask: (provider: Provider) => Promise<T>, signal: AbortSignal) {
    const settled = await Promise.allSettled(providers.map(ask))
    if (signal.aborted) throw signal.reason
    const answers = settled.flatMap((each, index) => {
      const provider = providers[index]
      return each.status === 'fulfilled' && provider !== undefined ? [{ provider, value: each.value }] : []
    })
    answering = answers.length
    return answers
  }

  async function agreedNewest(
    proxy: string,
    after: bigint,
    reports: readonly Report[],
    signal: AbortSignal,
  ): Promise<Round | null> {
    const candidates = reports
      .flatMap(({ value }) => (value == null || value.roundId <= after ? [] : [value]))
      .sort((a, b) => (a.roundId > b.roundId ? -1 : 1))
    for (const candidate of candidates) {
      let votes = 0
      for (const { provider, value } of reports) {
        if (value == null) continue
        if (value.roundId === candidate.roundId) {
          if (isSameRound(value, candidate)) votes += 1
        } else if (votes < needed && value.roundId > candidate.roundId) {
          // A node that is ahead can confirm an older round.
          const reported = await provider
            .call({ target: proxy, data: callGetRound(candidate.roundId) }, signal)
            .catch(() => null)
          const round = reported === null ? undefined : decodeRound(reported)
          if (round !== undefined && isSameRound(round, candidate)) votes += 1
        }
      }
      if (votes >= needed) {
        for (const { provider, value } of reports) {
          if (value?.roundId === candidate.roundId && !isSameRound(value, candidate)) dispute(provider.name)
        }
        return candidate
      }
    }
    return null
  }

  /**
   * Nodes that are behind agree on an old round, so what counts is how far those are that have this one and know of no
   * newer one. If its block was replaced, nothing is known until it has been read again.
   */
  function knownTo(newest: bigint, reports: readonly Report[]): number | undefined {
    return reports
      .filter(({ value }) => (value === null ? newest === 0n : value?.roundId === newest))
      .flatMap(({ blockMs }) => blockMs ?? [])
      .sort((a, b) => b - a)[needed - 1]
  }

  /** Undefined if the node does not report it: its rounds still count, but not that it knows of no newer one. */
  const newestBlock = (provider: Provider, signal: AbortSignal) =>
    provider.block(signal).catch(() => undefined)

  /** Sends all calls to a node and finds out how far its blocks reach. */
  async function askNode(
    provider: Provider,
    calls: readonly Call[],
    signal: AbortSignal,
  ): Promise<NodeAnswer> {
    if (withoutBlockTime.has(provider)) {
      // Behind one address there may be several nodes: the calls ask for the state of this very block.
      const block = await newestBlock(provider, signal)
      return { values: await provider.callAll(calls, signal, block?.number), blockMs: block?.timeMs }
    }
    const values = await provider.callAll([...calls, CALL_BLOCK_TIME], signal)
    const blockMs = decodeBlockTimeMs(values[calls.length] ?? null)
    if (blockMs !== undefined) return { values, blockMs }
    withoutBlockTime.add(provider)
    return askNode(provider, calls, signal)
  }

  /** Sends a call alone, because aggregators answer no other contract; fails if the node's newest block is earlier. */
  async function askAt(provider: Provider, call: Call, signal: AbortSignal, fromBlockMs: number) {
    const block = await provider.block(signal)
    if (block.timeMs < fromBlockMs)
      throw new VenueError(`${provider.name}: its newest block is too old`, { isFinal: false })
    return provider.call(call, signal, block.number)
  }

  return {
    needed,
    /** Number of nodes that answered the last request. */
    get answering() {
      return answering
    },
    /** One result per feed. */
    async newest(
      feeds: readonly { proxy: string; after: bigint }[],
      signal: AbortSignal,
    ): Promise<NewestRound[]> {
      const calls = feeds.map(({ proxy }) => ({ target: proxy, data: SELECTORS.latestRoundData }))
      const answers = await askAll((provider) => askNode(provider, calls, signal), signal)
      return Promise.all(
        feeds.map(async ({ proxy, after }, index) => {
          const reports = answers.map(({ provider, value }): Report => {
            const hex = value.values[index] ?? null
            return { provider, value: hex === null ? null : decodeRound(hex), blockMs: value.blockMs }
          })
          const round = await agreedNewest(proxy, after, reports, signal)
          return { round, knownToMs: knownTo(round?.roundId ?? after, reports) }
        }),
      )
    },
    /** The rounds with these ids: null if the chain has none, undefined if the nodes disagree. */
    async rounds(
      proxy: string,
      ids: readonly bigint[],
      signal: AbortSignal,
      proof: NoneProof,
    ): Promise<(Round | null | undefined)[]> {
      const calls = [
        ...ids.map((id) => ({ target: proxy, data: callGetRound(id) })),
        ...(proof.isNewest ? [{ target: proxy, data: SELECTORS.latestRoundData }] : []),
      ]
      const answers = await askAll((provider) => askNode(provider, calls, signal), signal)
      /** Behind one address there may be several nodes, so what counts is the block of this very answer. */
      const proves = ({ values, blockMs }: NodeAnswer, id: bigint) => {
        if (blockMs === undefined || blockMs < proof.fromBlockMs) return false
        if (!proof.isNewest) return true
        const latest = values[ids.length] ?? null
        const newest = latest === null ? undefined : decodeRound(latest)
        return newest !== undefined && newest.roundId < id
      }
      return ids.map((id, index) => {
        const reported: Round[] = []
        let none = 0
        for (const { provider, value } of answers) {
          const hex = value.values[index] ?? null
          const round = hex === null ? null : readRound(hex, id)
          if (round === null) none += proves(value, id) ? 1 : 0
          else if (round !== undefined) reported.push(round)
          else {
            // The answer to another request proves nothing about this round, not even that there is none.
            dispute(provider.name)
            misfits?.deadLetters.add({
              ...{ receivedMs: misfits.now(), reason: 'misfit', origin: `${provider.name} round ${id}` },
              text: hex ?? '',
            })
          }
        }
        const agreed = reported.find(
          (round) => reported.filter((each) => isSameRound(each, round)).length >= needed,
        )
        return agreed ?? (reported.length === 0 && none >= needed ? null : undefined)
      })
    },
    /**
     * One call that a quorum of nodes must answer alike; undefined without agreement.
     *
     * @param fromBlockMs only answers from a block of this time or later count
     */
    async call(call: Call, signal: AbortSignal, fromBlockMs?: number): Promise<string | null | undefined> {
      const ask = (provider: Provider) =>
        fromBlockMs === undefined ? provider.call(call, signal) : askAt(provider, call, signal, fromBlockMs)
      const answers = await askAll(ask, signal)
      const agreed = answers.find(
        ({ value }) => answers.filter((each) => each.value === value).length >= needed,
      )
      return agreed?.value
    },
    /** One call, with the answers of all nodes that answered from a block of this time or later. */
    async each(call: Call, signal: AbortSignal, fromBlockMs: number): Promise<(string | null)[]> {
      const answers = await askAll((provider) => askAt(provider, call, signal, fromBlockMs), signal)
      return answers.map(({ value }) => value)
    },
    /** How often a node reported another price or time for a round than the agreed one. */
    disputes: (): Readonly<Record<string, number>> => ({ ...disputed }),
  }
}
