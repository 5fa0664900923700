/** The data folder is private to its owner, and a service that lacks one of its secrets says so and does not start. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createLogger } from '../../src/kit/log.ts'
import { createSecretBox } from '../../src/kit/secret-box.ts'
import { dataFolder, startTestService } from '../fakes/service.ts'
import { storesIn } from '../fakes/stores.ts'

const folder = dataFolder()
const inFolder = (name: string) => join(folder.path, name)
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)
let umask: number
before(() => {
  // Set here, so that file modes do not depend on the umask of the shell.
  umask = process.umask(0o022)
})
after(() => {
  process.umask(umask)
  folder.remove()
})

async function startAndStop(log = createLogger({ level: 'silent' }), look = () => {}): Promise<void> {
  const service = await startTestService({ folder: folder.path, log })
  try {
    look()
  } finally {
    await service.stop({ keepFiles: true })
  }
}

test('folder 0700, files 0600, while it runs and after: databases, logs, secrets, what an older release left', async () => {
  chmodSync(folder.path, 0o755)
  mkdirSync(inFolder('dead-letters'), { mode: 0o755 })
  for (const name of ['cursor.key', 'test.db-wal', 'dead-letters/test-binance.ndjson'])
    writeFileSync(inFolder(name), name === 'cursor.key' ? Buffer.alloc(32, 7) : '', { mode: 0o644 })
  const look = () => {
    assert.equal(modeOf(folder.path), '700')
    const open = readdirSync(folder.path, { recursive: true, withFileTypes: true })
      .filter(({ name }) => name !== 'plans.json')
      .map((entry) => ({ path: join(entry.parentPath, entry.name), isFolder: entry.isDirectory() }))
      .filter(({ path, isFolder }) => modeOf(path) !== (isFolder ? '700' : '600'))
    assert.deepEqual(open, [])
  }
  await startAndStop(undefined, () => {
    look()
    const names = readdirSync(folder.path)
    for (const name of ['accounts.db-wal', 'accounts.db-shm', 'webhook.key', 'service.lock', 'test-chain.db'])
      assert.ok(names.includes(name), `${name} in ${names.join(' ')}`)
  })
  look()
})

test('without the key of its webhooks the start ends with a sentence and makes no new one', async () => {
  const store = storesIn(folder.path).jobs('test')
  const key = Buffer.alloc(32, 1)
  const subscription = {
    ...{ id: 'wh_1', accountId: 'a', keyId: 'k', url: 'https://example.com', kinds: ['block_added'] },
    ...{
      addresses: [],
      batch: false,
      createdAtMs: 0,
      secret: createSecretBox(key, randomBytes).seal('whsec_x'),
    },
  }
  await store.createSubscription(subscription, 10)
  await store.close()
  rmSync(inFolder('webhook.key'))
  await assert.rejects(
    startAndStop(),
    /webhook\.key is missing: the signing secrets of 1 webhooks of the test/,
  )
  assert.equal(existsSync(inFolder('webhook.key')), false)
  writeFileSync(inFolder('webhook.key'), Buffer.alloc(32, 2))
  await assert.rejects(startAndStop(), /webhook\.key is another key/)
  writeFileSync(inFolder('webhook.key'), 'short')
  await assert.rejects(startAndStop(), /has 5 bytes and is no secret of 32 bytes/)
  writeFileSync(inFolder('webhook.key'), key)
  await startAndStop()
})

test('a lost cursor key is created again and logged once: callers only start their lists again', async () => {
  let lines = ''
  const log = createLogger({
    level: 'warn',
    write: (line) => {
      lines += line
    },
  })
  rmSync(inFolder('cursor.key'))
  await startAndStop(log)
  assert.equal(lines.split('earlier cursors are refused').length, 2, lines)
  lines = ''
  await startAndStop(log)
  assert.doesNotMatch(lines, /cursors/)
})
