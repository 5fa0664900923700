import { workerData } from 'node:worker_threads'
import { accountsOperations } from './accounts-operations.ts'
import { serveWrites, type WriterData } from './group-commit.ts'
import { openDatabase } from './open.ts'

/** The writer thread of accounts, users and billing. */
const database = openDatabase(workerData as WriterData)
serveWrites(database, { operations: accountsOperations(database) })
