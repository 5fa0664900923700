/**
 * Parses a body into JSON-RPC calls, each of them completely validated, or into the error to answer with. Nothing here
 * throws, and nothing invalid reaches a node.
 */

import { type Demand, MAX_REQUEST_BODY_BYTES } from '../../../contract/endpoint.ts'
import { MAX_TRANSACTION_JSON_BYTES } from '../../../core/chain/transaction-json.ts'
import { MAX_FAULTS } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'
import type { Plan } from '../../../core/plan.ts'
import {
  type ExactJson,
  type JsonLimits,
  type JsonReading,
  parseExactBytes,
  parseExactBytesInSlices,
  writeExact,
} from '../../../kit/exact-json.ts'
import { Slice } from '../../../kit/time-slices.ts'
import { MAX_ADDRESSES, RPC_METHODS } from '../../../upstreams/methods.ts'
import type { Upstreams } from '../../../upstreams/pool.ts'
import type { Preparation, ValidCall } from '../../../upstreams/validate-params.ts'
import { MAX_BATCH } from './rpc-codes.ts'
import { rpcError } from './rpc-error.ts'

export type RpcItem =
  | { readonly call: ValidCall; readonly idText: string; readonly params: ExactJson }
  /** The error answer of a refused call. */
  | { readonly call: undefined; readonly refusal: string }

export interface RpcBody {
  readonly isBatch: boolean
  readonly items: readonly RpcItem[]
}

/** A block with the maximum of transactions has fewer values. */
const MIN_VALUES = 65_536
/** The values of the smallest output, which a batch of transactions may have many of, take more on average. */
const MIN_VALUE_BYTES = 12

const limitsFor = ({ length }: Buffer): JsonLimits => ({
  maxDepth: 64,
  maxChars: 134_217_728,
  maxMembers: 1_000,
  maxValues: Math.max(MIN_VALUES, Math.ceil(length / MIN_VALUE_BYTES)),
})
const ADDRESS_BYTES = 80
const MAX_ID_CHARS = 256
const MAX_SHOWN = 60

/** Room for a full batch in which every call has the maximum number of addresses, or for one large transaction. */
export function maxRpcBytes({ requestsPerSecond }: Plan): number {
  const calls = Math.min(MAX_BATCH, requestsPerSecond)
  const addresses = MAX_REQUEST_BODY_BYTES + calls * MAX_ADDRESSES * ADDRESS_BYTES
  return Math.max(MAX_TRANSACTION_JSON_BYTES, addresses)
}

/** Large bodies are parsed in slices. */
export function readRpcBody(bytes: Buffer, prepare: Upstreams['prepare']): RpcBody | Promise<RpcBody> {
  if (bytes.length > MAX_REQUEST_BODY_BYTES) return readInSlices(bytes, prepare)
  const calls = callsOf(parseExactBytes(bytes, limitsFor(bytes)))
  if ('refusal' in calls) return single(refused(calls.refusal))
  return { isBatch: calls.isBatch, items: calls.values.map((value) => readItem(value, prepare)) }
}

async function readInSlices(bytes: Buffer, prepare: Upstreams['prepare']): Promise<RpcBody> {
  const calls = callsOf(await parseExactBytesInSlices(bytes, limitsFor(bytes)))
  if ('refusal' in calls) return single(refused(calls.refusal))
  const slice = new Slice()
  const items: RpcItem[] = []
  for (const value of calls.values) {
    await slice.next()
    items.push(readItem(value, prepare))
  }
  return { isBatch: calls.isBatch, items }
}

type Calls =
  | { readonly isBatch: boolean; readonly values: readonly ExactJson[] }
  | { readonly refusal: string }

function callsOf(reading: JsonReading): Calls {
  if (!reading.ok) {
    const where = `The body is not JSON: ${reading.message} at position ${reading.at}.`
    return { refusal: rpcError('null', 'parse_error', where) }
  }
  const { value } = reading
  if (!Array.isArray(value)) return { isBatch: false, values: [value] }
  if (value.length > 0 && value.length <= MAX_BATCH) return { isBatch: true, values: value }
  const message = `A batch has 1 to ${MAX_BATCH} calls, this one has ${value.length}.`
  return { refusal: rpcError('null', 'invalid_request', message, { max_batch: MAX_BATCH }) }
}

function single(item: RpcItem): RpcBody {
  return { isBatch: false, items: [item] }
}

function refused(refusal: string): RpcItem {
  return { call: undefined, refusal }
}

function readItem(value: ExactJson, prepare: Upstreams['prepare']): RpcItem {
  const members = asMembers(value)
  if (members === undefined) {
    return refused(
      rpcError('null', 'invalid_request', 'A call is an object with jsonrpc, id, method, params.'),
    )
  }
  const id = members.id
  const idText = readId(id)
  const invalid = (message: string) => refused(rpcError(idText ?? 'null', 'invalid_request', message))
  if (members.jsonrpc !== '2.0') return invalid('The member jsonrpc must be "2.0".')
  if (id === undefined) return invalid('The member id is missing: calls without an answer are not taken.')
  if (idText === undefined) {
    return invalid(`The member id must be a number, null or a text of up to ${MAX_ID_CHARS} characters.`)
  }
  if (typeof members.method !== 'string') return invalid('The member method must be a text.')
  const params = readParams(members.params)
  const prepared = prepare(members.method, params)
  if (prepared.ok) return { call: prepared.call, idText, params: params ?? null }
  return refused(explain(members.method, prepared, idText))
}

function asMembers(value: ExactJson): { readonly [name: string]: ExactJson | undefined } | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return value as { readonly [name: string]: ExactJson }
}

/** The id as JSON; undefined if it is invalid. */
function readId(id: ExactJson | undefined): string | undefined {
  if (id === null || typeof id === 'number' || typeof id === 'bigint') return writeExact(id)
  return typeof id === 'string' && id.length <= MAX_ID_CHARS ? writeExact(id) : undefined
}

/** Some clients send an empty list for no parameters. */
function readParams(params: ExactJson | undefined): ExactJson | undefined {
  return Array.isArray(params) && params.length === 0 ? undefined : params
}

function explain(method: string, preparation: Preparation & { ok: false }, idText: string): string {
  const shown = method.slice(0, MAX_SHOWN)
  if (preparation.kind === 'blocked_method') {
    const message = `The method ${shown} is not served. Events come by webhooks and by the stream.`
    return rpcError(idText, 'blocked', message)
  }
  if (preparation.kind === 'unknown_method') {
    const near = nearest(method, [...RPC_METHODS.keys()])
    const hint = near === undefined ? '' : ` Did you mean ${near}?`
    return rpcError(
      idText,
      'method_not_found',
      `There is no method ${JSON.stringify(shown)}.${hint}`,
      near === undefined ? undefined : { suggestion: near },
    )
  }
  const faults = preparation.faults.map(({ path, message }) => ({ path, message }))
  const text = faults.map(({ path, message }) => `${path} ${message}`).join('; ')
  const stopped = faults.length < MAX_FAULTS ? {} : { checking_stopped: true }
  return rpcError(idText, 'invalid_params', `Wrong params: ${text.slice(0, 1_000)}.`, { faults, ...stopped })
}

/** Every call counts as a request, but only calls that will be forwarded have a price. */
export function rpcDemand(body: unknown): Demand {
  const { items } = body as RpcBody
  const units = { 'light call': 0, 'heavy call': 0 }
  for (const { call } of items) if (call !== undefined) units[unitOf(call)]++
  return { requests: items.length, units, heavyCalls: units['heavy call'] }
}

export function unitOf(call: ValidCall): 'light call' | 'heavy call' {
  return call.method.weight === 'light' ? 'light call' : 'heavy call'
}
