/** What the main thread and the heavy thread say to each other. */
import type { NodeAnswer, WireFault } from './wrpc.ts'

export interface HeavyThreadData {
  readonly nodes: readonly { readonly name: string; readonly url: string }[]
  readonly socketsPerNode: number
  readonly maxWaitingPerNode: number
}

export type ToHeavyThread =
  | { op: 'call'; id: number; node: string; method: string; paramsText: string; timeoutMs: number }
  | { op: 'cancel'; id: number }
  | { op: 'close' }

export type FromHeavyThread =
  | { id: number; kind: 'result'; memory: ArrayBuffer; offset: number; length: number }
  | { id: number; kind: 'error'; text: string }
  | { id: number; kind: 'fault'; fault: WireFault; sent: boolean; detail: string }

export function unpackAnswer(message: FromHeavyThread): NodeAnswer {
  if (message.kind !== 'result') return message
  return { kind: 'result', bytes: Buffer.from(message.memory, message.offset, message.length) }
}

/**
 * The memory of a large frame belongs to that frame alone and is moved to the other thread as it is. A small
 * one may share a pool with other frames: it is copied, because moving it would take the pool away.
 */
export function packResult(id: number, bytes: Buffer): Extract<FromHeavyThread, { kind: 'result' }> {
  const { buffer: memory, byteOffset, byteLength } = bytes
  const owned = memory instanceof ArrayBuffer && byteLength > memory.byteLength / 2 && byteLength > OWN_BYTES
  if (owned) return { id, kind: 'result', memory, offset: byteOffset, length: byteLength }
  const copy = new Uint8Array(bytes)
  return { id, kind: 'result', memory: copy.buffer, offset: 0, length: byteLength }
}

/** Above every pool and every single read from a socket. */
const OWN_BYTES = 256 * 1024
