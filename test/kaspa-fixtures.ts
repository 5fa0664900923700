/** Reads the recorded Kaspa data. It is stored outside the project; tests that need it are skipped without it. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Transaction } from '../src/core/chain/transaction.ts'
import { readTransaction } from '../src/core/chain/transaction-json.ts'

const ROOT = process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '..', '..', 'shared', 'fixtures')

/** The `skip` option of a test that needs the fixtures. */
export const skipWithoutKaspa: string | false = existsSync(join(ROOT, 'kaspa'))
  ? false
  : 'the recorded Kaspa fixtures are not here'

export function kaspaFixture<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, 'kaspa', path), 'utf8')) as T
}

/** One JSON document per line. */
export function kaspaLines<T>(path: string): T[] {
  const text = gunzipSync(readFileSync(join(ROOT, 'kaspa', path))).toString('utf8')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)
}

/** The recorded transactions carry more members than the reader needs, and small integers only. */
export function transactionOf(json: unknown): Transaction {
  const read = readTransaction(json)
  if (!read.ok) throw new Error(JSON.stringify(read.faults))
  return read.transaction
}
