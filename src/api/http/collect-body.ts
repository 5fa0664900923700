/**
 * Copies the body of a request into one buffer as it arrives. Otherwise a body of a million one-byte chunks would be a
 * million buffers, joined in one turn of the event loop.
 */
import type { Readable } from 'node:stream'
import { ApiError } from '../../core/errors.ts'
import type { BodyRoom } from './body-memory.ts'

/** These first bytes do not count towards the memory limit. */
const FIRST_BYTES = 4_096

export function collectBody(
  stream: Readable,
  maxBytes: number,
  declaredBytes: number,
  room?: BodyRoom,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // A declared length reserves no memory, unless it is small.
    let memory = Buffer.allocUnsafe(Math.min(FIRST_BYTES, maxBytes, declaredBytes || FIRST_BYTES))
    let length = 0

    function onData(part: Buffer): void {
      const whole = length + part.length
      if (whole > maxBytes) {
        refuse(tooLarge(maxBytes))
        return
      }
      if (whole > memory.length) {
        const bytes = Math.min(maxBytes, Math.max(whole, memory.length * 2))
        try {
          room?.grow(bytes)
        } catch (error) {
          refuse(error)
          return
        }
        const larger = Buffer.allocUnsafe(bytes)
        memory.copy(larger, 0, 0, length)
        memory = larger
      }
      part.copy(memory, length)
      length = whole
    }

    function refuse(error: unknown): void {
      leave()
      memory = Buffer.alloc(0)
      // The rest is read and dropped, because a client reads its answer only after it has sent everything.
      stream.resume()
      reject(error)
    }

    function onEnd(): void {
      leave()
      resolve(memory.subarray(0, length))
    }

    function onBroken(): void {
      leave()
      reject(new ApiError('invalid_param', 'The body ended too early.'))
    }

    function leave(): void {
      room?.leave()
      stream.off('data', onData)
      stream.off('end', onEnd)
      stream.off('error', onBroken)
      stream.off('close', onBroken)
    }

    if (declaredBytes > maxBytes) {
      reject(tooLarge(maxBytes))
      return
    }
    stream.on('data', onData)
    stream.on('end', onEnd)
    stream.on('error', onBroken)
    stream.on('close', onBroken)
  })
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', `The body is larger than ${maxBytes} bytes.`)
}
