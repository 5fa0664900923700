import { workerData } from 'node:worker_threads'
import { chainWrites } from './chain-operations.ts'
import { serveWrites, type WriterData } from './group-commit.ts'
import { openDatabase } from './open.ts'

/** The writer thread of a chain index. */
const database = openDatabase(workerData as WriterData)
serveWrites(database, chainWrites(database))
