import { parentPort, workerData } from 'node:worker_threads'
import { ConflictError } from '../accounts.ts'
import { accountsOperations } from './accounts-operations.ts'
import { openDatabase } from './open.ts'

/** The writer thread: takes named operations one after the other, so that no write holds the API's loop. */
export interface OperationRequest {
  id: number
  operation: string
  args: unknown[]
}
export type OperationReply =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; message: string; conflict: boolean }

if (parentPort !== null) {
  const port = parentPort
  const db = openDatabase({ file: String((workerData as { file: string }).file) })
  const operations = accountsOperations(db) as Record<string, (...args: never[]) => unknown>
  port.on('message', (request: OperationRequest | 'close') => {
    if (request === 'close') {
      db.close()
      port.close()
      return
    }
    port.postMessage(answer(request, operations[request.operation]))
  })
}

function answer(
  request: OperationRequest,
  operation: ((...args: never[]) => unknown) | undefined,
): OperationReply {
  try {
    if (operation === undefined) throw new Error(`unknown operation ${request.operation}`)
    return { id: request.id, ok: true, value: operation(...(request.args as never[])) }
  } catch (error) {
    return {
      id: request.id,
      ok: false,
      message: error instanceof Error ? error.message : String(error),
      conflict: error instanceof ConflictError,
    }
  }
}
