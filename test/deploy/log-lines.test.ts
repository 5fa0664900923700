/** Must hold: the reference has every line that the service can log, with its level and what it means, and no other. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { logLines } from './log-lines.ts'

const reference = readFileSync(join(import.meta.dirname, '../../docs/reference/log.md'), 'utf8')

/** `level: message` of every row of the reference that says what the line means. */
function documented(): string[] {
  return reference.split(/^## /m).flatMap((section) => {
    const level = section.slice(0, section.indexOf('\n'))
    return [...section.matchAll(/^\| (.+?) \| (\S.+) \|$/gm)]
      .filter(([, message]) => message !== 'line')
      .map(([, message]) => `${level}: ${message}`)
  })
}

test('docs/reference/log.md has the lines of the source, and no others', () => {
  const logged = logLines().filter(({ message }) => message !== '')
  assert.ok(logged.length > 80, `${logged.length} lines were found`)
  const lines = new Set(logged.map(({ level, message }) => `${level}: ${message}`))
  const known = documented().filter((line) => /^(debug|info|warn|error|fatal): /.test(line))
  assert.deepEqual(known.sort(), [...lines].sort())
})

test('a line without a message of its own is a sentence that was made elsewhere', () => {
  // Warnings about settings and exposure, and notices of venues.
  assert.deepEqual(
    logLines()
      .filter(({ message }) => message === '')
      .map(({ file }) => file),
    ['src/app.ts', 'src/ingest/shared/venue-notices.ts', 'src/main.ts'],
  )
})
