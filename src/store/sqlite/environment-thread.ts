import { workerData } from 'node:worker_threads'
import { environmentWrites } from './environment-operations.ts'
import { serveWrites, type WriterData } from './group-commit.ts'
import { openDatabase } from './open.ts'

/** The writer thread of an environment: the only writer of its file in this thread's process, or one of several. */
const database = openDatabase(workerData as WriterData)
serveWrites(database, environmentWrites(database))
