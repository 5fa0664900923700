/**
 * The writer thread of one database file. It commits the calls it receives in groups, and loads only what its own file
 * needs.
 */
import type { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { type Operations, serveWrites, type Writes } from './group-commit.ts'
import { openDatabase } from './open.ts'

export interface WriterThreadData {
  readonly name: keyof typeof WRITES
  readonly file: string
  readonly cacheBytes: number
  readonly sync: 'normal' | 'off'
}

type WritesOf = (database: DatabaseSync) => Writes<Operations>

const WRITES = {
  environment: async (): Promise<WritesOf> => (await import('./environment-operations.ts')).environmentWrites,
  chain: async (): Promise<WritesOf> => (await import('./chain-operations.ts')).chainWrites,
  jobs: async (): Promise<WritesOf> => (await import('./jobs-operations.ts')).jobWrites,
  accounts: async (): Promise<WritesOf> => (await import('./accounts-operations.ts')).accountsWrites,
}

const { name, ...file } = workerData as WriterThreadData
const writesOf = await WRITES[name]()
const database = openDatabase(file)
serveWrites(database, writesOf(database))
