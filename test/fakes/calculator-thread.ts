/** A thread that answers calls, fails in several ways, and reports what it does. */
import { setTimeout as delay } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { serveCalls, withTransfer } from '../../src/kit/thread-calls.ts'

export class OutOfRangeError extends Error {
  override readonly name = 'OutOfRangeError'
  readonly limit: number
  constructor(limit: number) {
    super(`more than ${limit}`)
    this.limit = limit
  }
}

export const calculator = {
  add: (a: bigint, b: bigint): bigint => a + b,
  async slowly(value: number): Promise<number> {
    await delay(50)
    return value
  },
  refuse(limit: number): never {
    throw new OutOfRangeError(limit)
  },
  fail(): never {
    throw Object.assign(new TypeError('no such file'), { code: 'ENOENT' })
  },
  first: (bytes: Uint8Array): number | undefined => bytes[0],
  zeros(length: number): { memory: ArrayBuffer } {
    const memory = new ArrayBuffer(length)
    return withTransfer({ memory }, [memory])
  },
  never: () => new Promise<never>(() => {}),
  die: () => setImmediate(() => process.exit(1)).hasRef(),
  throwLater: () =>
    setImmediate(() => {
      throw new Error('broken')
    }).hasRef(),
}
export type Calculator = typeof calculator

if (workerData?.serves === true) {
  const side = serveCalls(calculator, {
    async close() {
      await delay(20)
      side.post('closed everything')
    },
  })
  side.post('up')
}
