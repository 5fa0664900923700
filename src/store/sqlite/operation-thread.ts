import type { DatabaseSync } from 'node:sqlite'
import { type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { writeTransaction } from './open.ts'

/**
 * A writer thread that runs named operations. Everything that is waiting goes into one transaction (group
 * commit), each operation in a savepoint of its own, so that one that fails is undone alone; replies leave
 * after the commit.
 */
type Operations = Record<string, (...args: never[]) => unknown>

interface Request {
  id: number
  operation: string
  args: unknown[]
}
type Reply = { id: number; ok: true; value: unknown } | { id: number; ok: false; message: string }

const GROUP_OPERATIONS = 256

export function serveOperations(port: MessagePort, database: DatabaseSync, operations: Operations): void {
  let closing = false
  const next = (): Request | undefined => {
    const message = receiveMessageOnPort(port)?.message as Request | 'close' | undefined
    if (message === 'close') closing = true
    return message === 'close' ? undefined : message
  }
  const runOne = (request: Request): Reply => {
    database.exec('SAVEPOINT one')
    try {
      const operation = operations[request.operation]
      if (operation === undefined) throw new Error(`unknown operation ${request.operation}`)
      const value = operation(...(request.args as never[]))
      database.exec('RELEASE one')
      return { id: request.id, ok: true, value }
    } catch (error) {
      database.exec('ROLLBACK TO one')
      database.exec('RELEASE one')
      return { id: request.id, ok: false, message: messageOf(error) }
    }
  }
  const runGroup = (first: Request): Reply[] => {
    const group = [first]
    try {
      return writeTransaction(database, () => {
        const replies = [runOne(first)]
        while (group.length < GROUP_OPERATIONS) {
          const request = next()
          if (request === undefined) break
          group.push(request)
          replies.push(runOne(request))
        }
        return replies
      })
    } catch (error) {
      return group.map(({ id }) => ({ id, ok: false, message: messageOf(error) }))
    }
  }
  port.on('message', (message: Request | 'close') => {
    if (message === 'close') closing = true
    else port.postMessage(runGroup(message))
    if (!closing) return
    database.close()
    port.close()
  })
}

export interface OperationThread<Ops extends Operations> {
  call<Name extends keyof Ops & string>(
    operation: Name,
    ...args: Parameters<Ops[Name]>
  ): Promise<ReturnType<Ops[Name]>>
  /** Throws when the thread has ended. */
  probe(): void
  close(): Promise<void>
}

export function startOperations<Ops extends Operations>(script: URL, file: string): OperationThread<Ops> {
  const worker = new Worker(script, { workerData: { file } })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let dead: Error | undefined
  const failAll = (error: Error) => {
    dead ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('message', (replies: Reply[]) => {
    for (const reply of replies) {
      const caller = waiting.get(reply.id)
      waiting.delete(reply.id)
      if (reply.ok) caller?.resolve(reply.value)
      else caller?.reject(new Error(reply.message))
    }
    if (waiting.size === 0) worker.unref()
  })
  worker.on('error', (error) => failAll(error instanceof Error ? error : new Error(String(error))))
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      failAll(new Error('the writer thread has ended'))
      resolve()
    })
  })
  worker.unref()

  return {
    call(operation, ...args) {
      if (dead) return Promise.reject(dead)
      const request: Request = { id: nextId++, operation, args }
      if (waiting.size === 0) worker.ref()
      return new Promise((resolve, reject) => {
        waiting.set(request.id, { resolve: resolve as (value: unknown) => void, reject })
        worker.postMessage(request)
      })
    },
    probe() {
      if (dead) throw dead
    },
    async close() {
      if (dead) return
      worker.ref()
      worker.postMessage('close')
      await ended
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
