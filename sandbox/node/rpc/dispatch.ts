/** Turns a text frame into its answer. A frame that the node's parser refuses ends the connection. */
import { coinMethods } from './coin-methods.ts'
import { dagMethods } from './dag-methods.ts'
import type { RpcError } from './errors.ts'
import { infoMethods } from './info-methods.ts'
import { parseExact, u64 } from './json.ts'
import { type JsonObject, malformed } from './read-params.ts'
import type { Methods } from './view.ts'

export const METHODS: Methods = { ...infoMethods, ...dagMethods, ...coinMethods }

/** In the node's list of operations, but not served over this protocol. */
const UNSERVED =
  /^(noOp|connect|disconnect|notify[A-Z]\w*|(blockAdded|virtualChainChanged|finalityConflict|finalityConflictResolved|utxosChanged|sinkBlueScoreChanged|virtualDaaScoreChanged|pruningPointUtxoSetOverride|newBlockTemplate)Notification)$/
const NOTIFY =
  /^notify(BlockAdded|NewBlockTemplate|UtxosChanged|PruningPointUtxoSetOverride|FinalityConflict|FinalityConflictResolved|VirtualDaaScoreChanged|VirtualChainChanged|SinkBlueScoreChanged)$/

export interface Request {
  /** Undefined for a client notification, which gets no answer. */
  id: bigint | undefined
  method: string
  params: unknown
}

/** Undefined if the connection is to be closed. */
export function readRequest(frame: string): Request | undefined {
  let message: unknown
  try {
    message = parseExact(frame)
  } catch {
    return undefined
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return undefined
  const { id, method, params } = message as JsonObject
  if (typeof method !== 'string' || params === undefined || !isKnown(method)) return undefined
  if (id === undefined || id === null) return { id: undefined, method, params }
  if (typeof id !== 'number' && typeof id !== 'bigint') return undefined
  const exact = BigInt(id)
  return exact < 0n || exact > 0xffffffffffffffffn ? undefined : { id: exact, method, params }
}

function isKnown(method: string): boolean {
  if (Object.hasOwn(METHODS, method) || method === 'subscribe' || method === 'unsubscribe') return true
  return method.startsWith('notify') ? NOTIFY.test(method) : UNSERVED.test(method)
}

export function readParams(params: unknown): JsonObject {
  // The real node also accepts members as an ordered list; only the empty list is supported here.
  if (Array.isArray(params) && params.length === 0) return {}
  if (typeof params !== 'object' || params === null || Array.isArray(params)) throw malformed()
  return params as JsonObject
}

export function served(method: string): boolean {
  return Object.hasOwn(METHODS, method) || method === 'subscribe' || method === 'unsubscribe'
}

export function answer(request: Request, result: unknown): string {
  return JSON.stringify({ id: u64(request.id ?? 0n), method: request.method, params: result })
}

export function refusal(request: Request, error: RpcError): string {
  const { id, method } = request
  return JSON.stringify({ id: u64(id ?? 0n), method, error: { code: 0, message: error.message, data: null } })
}
