/** The calls from the main thread to the heavy thread, and how their answers cross. */
import { withTransfer } from '../kit/thread-calls.ts'
import type { NodeAnswer } from './wrpc.ts'

export interface HeavyThreadData {
  readonly nodes: readonly { readonly name: string; readonly url: string }[]
  readonly socketsPerNode: number
  readonly maxWaitingPerNode: number
}

export interface HeavyCalls {
  send(
    id: number,
    call: { node: string; method: string; paramsText: string; timeoutMs: number },
  ): Promise<PackedAnswer>
  cancel(id: number): void
}

type PackedResult = { kind: 'result'; memory: ArrayBuffer; offset: number; length: number }
type PackedAnswer = PackedResult | Exclude<NodeAnswer, { kind: 'result' }>

export function unpackAnswer(answer: PackedAnswer): NodeAnswer {
  if (answer.kind !== 'result') return answer
  return { kind: 'result', bytes: Buffer.from(answer.memory, answer.offset, answer.length) }
}

/**
 * The memory of a large frame belongs to that frame alone and is moved to the other thread as it is. A small
 * one may share a pool with other frames: it is copied, because moving it would take the pool away.
 */
export function packResult(bytes: Buffer): PackedResult {
  const { buffer: memory, byteOffset, byteLength } = bytes
  const owned = memory instanceof ArrayBuffer && byteLength > memory.byteLength / 2 && byteLength > OWN_BYTES
  if (owned) {
    return withTransfer({ kind: 'result', memory, offset: byteOffset, length: byteLength }, [memory])
  }
  const { buffer: copy } = new Uint8Array(bytes)
  return withTransfer({ kind: 'result', memory: copy, offset: 0, length: byteLength }, [copy])
}

/** Above every pool and every single read from a socket. */
const OWN_BYTES = 256 * 1024
