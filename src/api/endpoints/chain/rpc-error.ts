import { type ExactJson, writeExact } from '../../../kit/exact-json.ts'
import type { CallFailure } from '../../../upstreams/call-outcome.ts'
import { refusalDetail } from './refusal-detail.ts'
import { RPC_ERRORS, type RpcErrorKind } from './rpc-codes.ts'

/** The text of an error answer. `idText` is already JSON. */
export function rpcError(
  idText: string,
  kind: RpcErrorKind,
  message: string,
  data?: Record<string, ExactJson>,
): string {
  const error = { code: RPC_ERRORS[kind].code, message, ...(data ? { data } : {}) }
  return `{"jsonrpc":"2.0","id":${idText},"error":${writeExact(error)}}`
}

const UNAVAILABLE: Partial<Record<CallFailure['kind'], string>> = {
  timeout: 'No node answered in time.',
  overloaded: 'The nodes are busy.',
}

/** The error of a failed call. It reveals nothing about our nodes. */
export function failureAnswer(idText: string, failure: CallFailure, more: Record<string, ExactJson> = {}) {
  if (failure.kind === 'refused') {
    const { refusal } = failure
    const text = rpcError(idText, 'refused', refusal.text, { ...refusalDetail(refusal), ...more })
    return { text, unavailable: false }
  }
  const message = UNAVAILABLE[failure.kind] ?? 'No node is available.'
  const text = rpcError(idText, 'unavailable', message, { reason: failure.kind, ...more })
  return { text, unavailable: true }
}
