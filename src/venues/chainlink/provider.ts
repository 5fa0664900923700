/**
 * One node behind JSON-RPC. A contract that reverts has answered: this is not a fault of the node, and another node
 * would answer the same.
 */

import type { WireType } from '../adapter/wire-type.ts'
import { misfit } from '../rest/expect-fit.ts'
import { type RestResponse, VenueError } from '../rest/rest-client.ts'
import { type RestAccess, requestTyped } from '../rest/typed-request.ts'
import {
  ANSWER_UPDATED_TOPIC,
  type AnswerLog,
  type Call,
  decodeAnswerLog,
  decodeMulticall,
  encodeMulticall,
  MULTICALL3,
} from './abi.ts'
import { Block, Hex, Logs, RpcReply } from './wire.ts'

const MAX_LOG_RANGE = 2_000
/** Nodes word this error in many ways. */
const RANGE_TOO_LONG = /range|limit|more than|too (large|many|wide)/i
/** The node limits requests, or has not seen the newest block yet, so smaller requests do not help. */
const REFUSES =
  /\brate\b|ratelimit|too many requests|throttl|quota|per (second|minute|day)|daily|invalid block range/i

/** The node understood the request and refused it. */
class RpcError extends VenueError {
  readonly isRevert: boolean
  constructor(message: string, code: number) {
    const isRevert = code === 3 || /revert/i.test(message)
    super(message, { isFinal: isRevert })
    this.name = 'RpcError'
    this.isRevert = isRevert
  }
}

export interface Provider {
  readonly name: string
  /**
   * Null if the contract reverts.
   *
   * @param at number of the block whose state is asked for; a node that does not have it refuses. The newest by default.
   */
  call(call: Call, signal: AbortSignal, at?: number): Promise<string | null>
  /** Sends many calls in one request where the chain has the contract for it, otherwise one by one. */
  callAll(calls: readonly Call[], signal: AbortSignal, at?: number): Promise<(string | null)[]>
  /** The newest logs of answers, oldest first. */
  answerLogs(aggregator: string, blocks: number, signal: AbortSignal): Promise<AnswerLog[]>
  block(signal: AbortSignal): Promise<{ number: number; timeMs: number; roundTripMs: number }>
}

/** Addresses may be in lower case or carry a checksum in the case of their letters. */
const isSameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

export function createProvider(name: string, asker: RestAccess): Provider {
  let lastId = 0
  let hasMulticall = true

  async function ask<T>(
    method: string,
    params: readonly unknown[],
    type: WireType<T>,
    signal: AbortSignal,
  ): Promise<{ result: T; answer: RestResponse }> {
    const body = { jsonrpc: '2.0', id: ++lastId, method, params }
    const { value, answer } = await requestTyped(asker, { path: '', body, weight: 1 }, RpcReply, signal)
    const { result, error, id } = value
    const origin = `${name} ${method}`
    // This answers another request, such as one for another feed: a cache or a proxy has mixed them up.
    if (id !== body.id && !(error !== undefined && id == null))
      throw misfit('the answer to another id', origin, answer, asker.deadLetters)
    if (error !== undefined) throw new RpcError(error.message, error.code)
    if (type.is(result)) return { result, answer }
    const { receivedMs, text } = answer
    asker.deadLetters.add({ receivedMs, reason: 'wrong_shape', origin, text })
    throw new VenueError(`${method}: an answer of unknown shape`, { isFinal: false })
  }

  async function askCall({ target, data }: Call, signal: AbortSignal, at?: number) {
    const block = at === undefined ? 'latest' : `0x${at.toString(16)}`
    try {
      const { result, answer } = await ask('eth_call', [{ to: target, data }, block], Hex, signal)
      return { text: result === '0x' ? null : result, answer }
    } catch (error) {
      if (error instanceof RpcError && error.isRevert) return { text: null }
      throw error
    }
  }

  const call = async (asked: Call, signal: AbortSignal, at?: number) =>
    (await askCall(asked, signal, at)).text

  async function callAll(
    calls: readonly Call[],
    signal: AbortSignal,
    at?: number,
  ): Promise<(string | null)[]> {
    if (hasMulticall && calls.length > 1) {
      const asked = { target: MULTICALL3, data: encodeMulticall(calls) }
      const { text, answer } = await askCall(asked, signal, at)
      const answers = text === null ? undefined : decodeMulticall(text)
      if (answers?.length === calls.length) return answers
      // Without the contract, calls are sent one by one from now on; after a wrong answer, only this time.
      if (text === null) hasMulticall = false
      else if (answer !== undefined)
        misfit('not the answers to these calls', `${name} eth_call`, answer, asker.deadLetters)
    }
    const answers: (string | null)[] = []
    for (const each of calls) answers.push(await call(each, signal, at))
    return answers
  }

  async function block(signal: AbortSignal) {
    const { result, answer } = await ask('eth_getBlockByNumber', ['latest', false], Block, signal)
    const { roundTripMs } = answer
    return { number: Number(result.number), timeMs: Number(result.timestamp) * 1_000, roundTripMs }
  }

  /** Nodes allow ranges of different lengths; a range that is too long for one is halved. */
  async function logsOf(
    aggregator: string,
    from: number,
    to: number,
    signal: AbortSignal,
  ): Promise<AnswerLog[]> {
    const hex = (value: number) => `0x${value.toString(16)}`
    const filter = {
      address: aggregator,
      topics: [ANSWER_UPDATED_TOPIC],
      fromBlock: hex(from),
      toBlock: hex(to),
    }
    try {
      const { result, answer } = await ask('eth_getLogs', [filter], Logs, signal)
      for (const { address, blockNumber } of result) {
        const number = Number(blockNumber)
        if (number >= from && number <= to && isSameAddress(address, aggregator)) continue
        throw misfit(
          `a log of ${address} in block ${number}, asked for ${aggregator} from ${from} to ${to}`,
          `${name} eth_getLogs`,
          answer,
          asker.deadLetters,
        )
      }
      return result.flatMap((log) => decodeAnswerLog(log) ?? [])
    } catch (error) {
      const isTooLong =
        error instanceof RpcError && RANGE_TOO_LONG.test(error.message) && !REFUSES.test(error.message)
      if (!isTooLong || to <= from) throw error
      const middle = Math.floor((from + to) / 2)
      const early = await logsOf(aggregator, from, middle, signal)
      return [...early, ...(await logsOf(aggregator, middle + 1, to, signal))]
    }
  }

  return {
    name,
    call,
    callAll,
    block,
    async answerLogs(aggregator, blocks, signal) {
      const head = (await block(signal)).number
      const first = Math.max(0, head - blocks + 1)
      const logs: AnswerLog[] = []
      for (let from = first; from <= head; from += MAX_LOG_RANGE) {
        const to = Math.min(head, from + MAX_LOG_RANGE - 1)
        logs.push(...(await logsOf(aggregator, from, to, signal)))
      }
      return logs
    },
  }
}
