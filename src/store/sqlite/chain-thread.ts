/** The writer thread of a chain index: named operations, one after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import { chainOperations } from './chain-operations.ts'
import { openDatabase } from './open.ts'

export interface ChainRequest {
  id: number
  operation: string
  args: unknown[]
}
export type ChainReply = { id: number; value: unknown } | { id: number; error: string }

if (parentPort !== null) {
  const port = parentPort
  const database = openDatabase({ file: String((workerData as { file: string }).file) })
  const operations = chainOperations(database) as Record<string, (...args: never[]) => unknown>
  port.on('message', (request: ChainRequest | 'close') => {
    if (request === 'close') {
      database.close()
      port.close()
      return
    }
    port.postMessage(answer(request, operations[request.operation]))
  })
}

function answer(
  { id, operation, args }: ChainRequest,
  run: ((...args: never[]) => unknown) | undefined,
): ChainReply {
  try {
    if (run === undefined) throw new Error(`unknown operation ${operation}`)
    return { id, value: run(...(args as never[])) }
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) }
  }
}
