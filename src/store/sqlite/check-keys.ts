/** Checks the key files of a data folder; the service does not start without a good one. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding } from '../maintain.ts'
import { SECRET_BYTES } from '../shared-secrets.ts'
import { type DatabaseFile, KEY_FILES, WEBHOOK_KEY } from './files.ts'
import { readDatabase } from './read-database.ts'

/** @param files those that are there */
export function keyFindings(folder: string, files: readonly DatabaseFile[]): Finding[] {
  return KEY_FILES.flatMap((name): Finding[] => {
    const bytes = statSync(join(folder, name), { throwIfNoEntry: false })?.size
    const fault = bytes === undefined ? faultWithout(name, files) : faultOf(bytes)
    if (fault !== undefined)
      return [{ state: 'problem', about: name, finding: `${fault}: put it back from a backup` }]
    return bytes === undefined ? [] : [{ state: 'ok', about: name, finding: `${bytes} bytes` }]
  })
}

function faultOf(bytes: number): string | undefined {
  return bytes === SECRET_BYTES ? undefined : `it has ${bytes} bytes, not ${SECRET_BYTES}`
}

/** Keys that nothing was stored with are created when needed. */
function faultWithout(name: string, files: readonly DatabaseFile[]): string | undefined {
  if (name !== WEBHOOK_KEY) return undefined
  const count = files.reduce((sum, file) => sum + countWebhooks(file), 0)
  return count === 0
    ? undefined
    : `it is missing, and the signing secrets of ${count} webhooks cannot be read without it`
}

/** A database that cannot be read is a finding of its own. */
function countWebhooks({ label, path }: DatabaseFile): number {
  if (label !== 'jobs' || statSync(path).size === 0) return 0
  try {
    return readDatabase(path, (database) =>
      Number(database.prepare('SELECT count(*) AS n FROM subscriptions').get()?.n),
    )
  } catch {
    return 0
  }
}
