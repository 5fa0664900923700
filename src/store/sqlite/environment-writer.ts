import type { DatabaseSync } from 'node:sqlite'
import { threadCalls } from '../../kit/thread-calls.ts'
import { StoreClosedError } from '../environment.ts'
import type { Command, CommandResult, CommandResults } from './environment-commands.ts'
import { committer } from './environment-transactions.ts'

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

interface EnvironmentCalls {
  run(command: Command): CommandResult
}

/**
 * Writes in a thread of its own: the caller's event loop only hands over. The thread is started by the first write,
 * and again by the next one after it died.
 */
export function threadWriter(file: string): Writer {
  const calls = threadCalls<EnvironmentCalls>(new URL('./environment-worker.ts', import.meta.url), {
    name: 'environment writer',
    data: { file, cacheBytes: WRITER_CACHE_BYTES },
    maxWeight: MAX_WAITING_ROWS,
    startOnCall: true,
  })
  let isClosed = false
  return {
    ready: () => calls.ready(),
    async send<C extends Command>(command: C, weight: number) {
      if (isClosed) throw new StoreClosedError()
      return (await calls.call('run', [command], { weight })) as CommandResults[C['kind']]
    },
    close() {
      isClosed = true
      return calls.close()
    },
  }
}

/** Writes on the caller's own connection: the only way into a database that lives in memory. */
export function inlineWriter(database: DatabaseSync): Writer {
  const { commit } = committer(database)
  let closed = false
  return {
    async ready() {},
    async send<C extends Command>(command: C) {
      if (closed) throw new StoreClosedError()
      const [reply] = commit({ id: 1, name: 'run', args: [command] }, () => undefined)
      if (reply === undefined || 'error' in reply) throw new Error(reply?.error.message)
      return reply.value as CommandResults[C['kind']]
    },
    async close() {
      closed = true
    },
  }
}
