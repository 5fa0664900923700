/** Databases that are truncated, deleted or replaced: a clear log line and a stop, or a refusal to start. */
import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { type ChildService, dataFolder, printedKey, spawnService } from '../fakes/service.ts'

const folder = dataFolder()
const copy = dataFolder()
let key: string
before(async () => {
  const first = await spawnService(folder.path)
  key = await printedKey(first)
  assert.equal((await ask(`${first.url}/v1/sources`, { key })).status, 200)
  assert.equal(await first.kill('SIGTERM'), 0)
})
after(() => {
  folder.remove()
  copy.remove()
})

function fresh(): string {
  rmSync(copy.path, { recursive: true })
  cpSync(folder.path, copy.path, { recursive: true })
  return copy.path
}
const halve = (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))

const seed = Math.floor(Math.random() * 1e9)
const CHANGES: [string, (file: string) => void][] = [
  ['cut', halve],
  ['cut to nothing', (file) => truncateSync(file, 0)],
  ['deleted', (file) => rmSync(file)],
  [
    'replaced',
    (file) => {
      cpSync(file, `${file}.other`)
      renameSync(`${file}.other`, file)
    },
  ],
]
const [what, change] = CHANGES[seed % CHANGES.length] ?? ['cut', halve]

for (const [name, act] of [
  ['cut', halve],
  [what, change],
] as const)
  test(`a database that is ${name} under the running service: one line, then it stops with exit code 1`, async (t) => {
    t.diagnostic(`seed ${seed}`)
    const path = fresh()
    const service: ChildService = await spawnService(path)
    const file = join(path, seed % 2 === 0 ? 'accounts.db' : 'test.db')
    act(file)
    // Requests in the meantime are answered, correctly or with a refusal; none crashes the process.
    for (let i = 0; i < 20; i++) {
      const answer = await ask(`${service.url}/v1/candles?symbol=BTC&limit=1`, { key }).catch(() => undefined)
      if (answer === undefined) break
      assert.ok([200, 401, 500, 503].includes(answer.status), `${answer.status}`)
    }
    assert.equal(await service.ended, 1, service.printed())
    const lines = service
      .printed()
      .split('\n')
      .filter((line) => line.includes('"level":60'))
    assert.equal(lines.length, 1, service.printed())
    assert.match(lines[0] ?? '', /a database was changed under the service, which stops now/)
    assert.ok(lines[0]?.includes(file))
  })

test('a start on a damaged database ends with a sentence that names the file', async () => {
  for (const [name, damage, told] of [
    ['test.db', halve, /is damaged: it has \d+ bytes of \d+/],
    [
      'accounts.db',
      (file: string) => writeFileSync(file, 'x'.repeat(5_000)),
      /is damaged: it does not begin like a database/,
    ],
    [
      'accounts.db',
      (file: string) => truncateSync(file, 0),
      /is damaged: it is empty, and other databases of the folder are not/,
    ],
  ] as const) {
    const path = fresh()
    damage(join(path, name))
    await assert.rejects(spawnService(path), (error: Error) => {
      assert.match(error.message, told)
      assert.ok(error.message.includes(join(path, name)))
      assert.doesNotMatch(error.message, /\n\s+at /, 'no stack')
      return true
    })
  }
})
