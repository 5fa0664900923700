/**
 * The chain index and the event log in one file per environment. Reads on a connection of the calling thread.
 * Writes go to a thread of their own, started by the first one; `inline` writes on the calling thread, for an
 * indexer that has a thread of its own. Several connections, also of other processes, may share the file.
 */
import { Worker } from 'node:worker_threads'
import type { ChainStore } from '../chain.ts'
import { StoreClosedError } from '../environment.ts'
import type { EventStore } from '../events.ts'
import { addressTable } from './chain-addresses.ts'
import { type ChainOperations, chainOperations } from './chain-operations.ts'
import { chainReader } from './chain-read.ts'
import { CHAIN_MIGRATIONS } from './chain-schema.ts'
import type { ChainReply, ChainRequest } from './chain-thread.ts'
import { eventReader } from './events-read.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

export interface ChainDatabase {
  readonly chain: ChainStore
  readonly events: EventStore
  close(): Promise<void>
}

interface Writer {
  call<Name extends keyof ChainOperations>(
    operation: Name,
    ...args: Parameters<ChainOperations[Name]>
  ): Promise<ReturnType<ChainOperations[Name]>>
  close(): Promise<void>
}

const CACHE_BYTES = 64 * 1024 * 1024
const PAGE_BYTES = 8192

export function openSqliteChain(options: { file: string; inline?: boolean }): ChainDatabase {
  const database = openDatabase({ file: options.file, cacheBytes: CACHE_BYTES, pageBytes: PAGE_BYTES })
  try {
    migrate(database, 'chain', CHAIN_MIGRATIONS)
  } catch (error) {
    database.close()
    throw error
  }
  const addresses = addressTable(database)
  const chain = chainReader(database, addresses)
  const events = eventReader(database, addresses)
  const inline = options.inline === true || options.file === ':memory:'
  const writer = inline ? inlineWriter(chainOperations(database)) : threadWriter(options.file)
  let closing: Promise<void> | undefined
  const read = async <T>(work: () => T): Promise<T> => {
    if (closing !== undefined) throw new StoreClosedError()
    return work()
  }

  return {
    chain: {
      write: (batch) => writer.call('write', batch),
      prune: (retention) => writer.call('prune', retention),
      checkpoint: () => read(() => chain.checkpoint()),
      coverageFromMs: () => read(() => chain.coverageFromMs()),
      indexedFromMs: () => read(() => chain.indexedFromMs()),
      gaps: (limit) => read(() => chain.gaps(limit)),
      chainBlockBelow: (steps) => read(() => chain.chainBlockBelow(steps)),
      chainAbove: (hash) => read(() => chain.chainAbove(hash)),
      confirmedBy: (hashes) => read(() => chain.confirmedBy(hashes)),
      known: (txIds) => read(() => chain.known(txIds)),
      unseen: (hashes) => read(() => chain.unseen(hashes)),
      pending: (limit) => read(() => chain.pending(limit)),
      output: (txId, index) => read(() => chain.output(txId, index)),
      transaction: (txId) => read(() => chain.transaction(txId)),
      addressPage: (query) => read(() => chain.addressPage(query)),
    },
    events: {
      append: (list) => writer.call('append', list),
      retain: (retention) => writer.call('retain', retention),
      savePosition: (reader, seq, force = false) => writer.call('savePosition', reader, seq, force),
      removePosition: (reader) => writer.call('removePosition', reader),
      after: (query) => read(() => events.after(query)),
      byId: (id) => read(() => events.byId(id)),
      bounds: () => read(() => events.bounds()),
      logId: () => read(() => events.logId()),
      numberAbove: (seq) => writer.call('numberAbove', seq),
      seqBefore: (timeMs) => read(() => events.seqBefore(timeMs)),
      position: (reader) => read(() => events.position(reader)),
    },
    close() {
      closing ??= writer.close().then(() => database.close())
      return closing
    },
  }
}

function inlineWriter(operations: ChainOperations): Writer {
  let closed = false
  return {
    async call(operation, ...args) {
      if (closed) throw new StoreClosedError()
      const run = operations[operation] as (...args: unknown[]) => unknown
      return run(...args) as never
    },
    async close() {
      closed = true
    },
  }
}

function threadWriter(file: string): Writer {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let closed = false
  let started: { worker: Worker; ended: Promise<void> } | undefined

  function start() {
    const worker = new Worker(new URL('./chain-thread.ts', import.meta.url), { workerData: { file } })
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    const fail = (error: Error) => {
      for (const { reject } of waiting.values()) reject(error)
      waiting.clear()
      started = undefined
    }
    worker.on('message', (reply: ChainReply) => {
      const caller = waiting.get(reply.id)
      waiting.delete(reply.id)
      if (waiting.size === 0) worker.unref()
      if ('error' in reply) caller?.reject(new Error(reply.error))
      else caller?.resolve(reply.value)
    })
    worker.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => fail(new StoreClosedError()))
    return { worker, ended }
  }

  return {
    call(operation, ...args) {
      if (closed) return Promise.reject(new StoreClosedError())
      started ??= start()
      const { worker } = started
      const request: ChainRequest = { id: nextId++, operation, args }
      worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(request.id, { resolve: resolve as (value: unknown) => void, reject })
        worker.postMessage(request)
      })
    },
    async close() {
      closed = true
      if (started === undefined) return
      started.worker.ref()
      started.worker.postMessage('close')
      await started.ended
    },
  }
}
