import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pruneBuilds } from './build-site.ts'

test('old builds and drafts are removed; the one in use and what another process has just made stay', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-builds-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const nowMs = Date.now()
  const make = (name: string, ageMs: number) => {
    const path = join(folder, name)
    mkdirSync(join(path, 'assets'), { recursive: true })
    utimesSync(path, new Date(nowMs - ageMs), new Date(nowMs - ageMs))
    return path
  }
  const keep = make('current', 86_400_000)
  make('of-last-week', 7 * 86_400_000)
  make('.draft-1-cut-off', 3_600_000)
  make('of-another-process', 1_000)
  pruneBuilds(folder, keep, nowMs)
  assert.deepEqual(readdirSync(folder).sort(), ['current', 'of-another-process'])
})
