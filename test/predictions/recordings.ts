/**
 * Recorded messages of prediction markets and oracles, where they are present. Set TAPELINE_FIXTURES to another
 * folder; tests that need them are skipped without.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER =
  process.env.TAPELINE_FIXTURES ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'fixtures')

/** For node:test: false when the recordings are there, else why the test is skipped. */
export function absent(venue: string): false | string {
  return existsSync(join(FOLDER, venue)) ? false : `no recordings in ${join(FOLDER, venue)}`
}

function recording(venue: string, file: string): string {
  return readFileSync(join(FOLDER, venue, file), 'utf8')
}

export function recordedJson<T>(venue: string, file: string): T {
  return JSON.parse(recording(venue, file)) as T
}

export function recordedLines<T>(venue: string, file: string): T[] {
  return recording(venue, file)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T)
}

export function recordedFiles(venue: string): string[] {
  return globSync('**/*.{json,jsonl,csv}', { cwd: join(FOLDER, venue) }).sort()
}

export function recordedRows(venue: string, file: string): Record<string, string>[] {
  const [head = '', ...lines] = recording(venue, file).trim().split('\n')
  const names = head.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    return Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']))
  })
}
