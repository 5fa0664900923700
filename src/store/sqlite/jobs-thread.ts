import { workerData } from 'node:worker_threads'
import { serveWrites, type WriterData } from './group-commit.ts'
import { jobOperations } from './jobs-operations.ts'
import { openDatabase } from './open.ts'

/** The writer thread of the delivery jobs. */
const database = openDatabase(workerData as WriterData)
serveWrites(database, { operations: jobOperations(database) })
