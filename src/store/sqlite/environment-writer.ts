import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { StoreClosedError } from '../environment.ts'
import type { Command, CommandResults } from './environment-commands.ts'
import { committer, type Reply, type Request } from './environment-transactions.ts'

/** The way of commands to the file. Resolves when the command is committed. */
export interface Writer {
  /** Resolves when the queue has room; to be awaited before `send`. */
  ready(): Promise<void>
  send<C extends Command>(command: C, weight: number): Promise<CommandResults[C['kind']]>
  close(): Promise<void>
}

/** Rows that may wait for the writer; above it `ready` waits. */
export const MAX_WAITING_ROWS = 40_000
const WRITER_CACHE_BYTES = 64 * 1024 * 1024

interface Waiting {
  weight: number
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Writes in a thread of its own: the caller's event loop only hands over. */
export function threadWriter(file: string): Writer {
  const worker = new Worker(new URL('./environment-worker.ts', import.meta.url), {
    workerData: { file, cacheBytes: WRITER_CACHE_BYTES },
  })
  const waiting = new Map<number, Waiting>()
  const blocked: (() => void)[] = []
  let waitingRows = 0
  let nextId = 1
  let failure: Error | undefined
  let closing: Promise<void> | undefined
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))

  const admit = () => {
    while (blocked.length > 0 && (failure !== undefined || waitingRows < MAX_WAITING_ROWS))
      blocked.shift()?.()
  }
  const fail = (error: Error) => {
    failure ??= error
    for (const entry of waiting.values()) entry.reject(failure)
    waiting.clear()
    waitingRows = 0
    admit()
  }
  worker.on('message', (replies: Reply[]) => {
    for (const reply of replies) {
      const entry = waiting.get(reply.id)
      if (entry === undefined) continue
      waiting.delete(reply.id)
      waitingRows -= entry.weight
      if ('error' in reply) entry.reject(new Error(reply.error))
      else entry.resolve(reply.result)
    }
    admit()
  })
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
  worker.on('exit', () => fail(new StoreClosedError()))

  return {
    async ready() {
      while (failure === undefined && waitingRows >= MAX_WAITING_ROWS) {
        await new Promise<void>((resolve) => blocked.push(resolve))
      }
    },
    async send<C extends Command>(command: C, weight: number) {
      if (closing !== undefined) throw new StoreClosedError()
      if (failure !== undefined) throw failure
      const request: Request = { id: nextId++, command }
      waitingRows += weight
      const result = new Promise<unknown>((resolve, reject) => {
        waiting.set(request.id, { weight, resolve, reject })
      })
      worker.postMessage(request)
      return (await result) as CommandResults[C['kind']]
    },
    close() {
      // Messages keep their order: everything handed over before is committed and answered first.
      if (closing === undefined) {
        worker.postMessage('close')
        closing = exited
      }
      return closing
    },
  }
}

/** Writes on the caller's own connection: the only way into a database that lives in memory. */
export function inlineWriter(database: DatabaseSync): Writer {
  const writer = committer(database)
  let closed = false
  return {
    async ready() {},
    async send<C extends Command>(command: C) {
      if (closed) throw new StoreClosedError()
      const [reply] = writer.commit({ id: 1, command }, () => undefined)
      if (reply === undefined || 'error' in reply)
        throw new Error(reply?.error ?? 'the writer gave no answer')
      return reply.result as CommandResults[C['kind']]
    },
    async close() {
      closed = true
    },
  }
}
