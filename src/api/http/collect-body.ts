/**
 * The body of a request, copied into one piece of memory as it arrives. A body of a million chunks of one byte would
 * otherwise be a million buffers, joined in one turn of the loop.
 */
import type { Readable } from 'node:stream'
import { ApiError } from '../../core/errors.ts'

const FIRST_BYTES = 4_096

export function collectBody(stream: Readable, maxBytes: number, declaredBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // What is only declared reserves no memory, except where it is little.
    let memory = Buffer.allocUnsafe(Math.min(FIRST_BYTES, maxBytes, declaredBytes || FIRST_BYTES))
    let length = 0

    function onData(part: Buffer): void {
      const whole = length + part.length
      if (whole > maxBytes) {
        leave()
        // The rest is read and dropped: a client reads its answer after it has sent everything.
        stream.resume()
        reject(tooLarge(maxBytes))
        return
      }
      if (whole > memory.length) {
        const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(whole, memory.length * 2)))
        memory.copy(larger, 0, 0, length)
        memory = larger
      }
      part.copy(memory, length)
      length = whole
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
