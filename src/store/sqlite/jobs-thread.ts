import { parentPort, workerData } from 'node:worker_threads'
import { jobOperations } from './jobs-operations.ts'
import { openDatabase } from './open.ts'
import { serveOperations } from './operation-thread.ts'

/** The writer thread of the delivery jobs. */
if (parentPort !== null) {
  const database = openDatabase({ file: String((workerData as { file: string }).file) })
  serveOperations(parentPort, database, jobOperations(database))
}
