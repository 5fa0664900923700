import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../kit/clock.ts'
import { checkBatches, killDuringAppend } from '../conformance/kill.ts'
import { openSqliteEnvironment } from './environment.ts'

const ROUNDS = process.env.TAPELINE_SOAK ? 40 : 2

function script(folder: string): string {
  const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href)
  const path = join(folder, 'append.mjs')
  writeFileSync(
    path,
    `import { openSqliteEnvironment } from ${module('environment.ts')}
     import { appendForEver } from ${module('../conformance/kill.ts')}
     import { systemClock } from ${module('../../kit/clock.ts')}
     await appendForEver(await openSqliteEnvironment({ file: process.argv[2], clock: systemClock }))`,
  )
  return path
}

test('sqlite: kill -9 during heavy append loses no acknowledged batch and leaves none in part', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-'))
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const file = join(folder, `${round}.db`)
      const acknowledged = await killDuringAppend(process.execPath, script(folder), file, 20 + round * 17)
      assert.ok(acknowledged.length >= 20)
      const store = await openSqliteEnvironment({ file, clock: systemClock })
      await checkBatches(store, acknowledged)
      await store.close()
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
