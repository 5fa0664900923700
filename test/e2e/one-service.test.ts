/** One service per data folder: the lock is the operating system's, and the port is taken before anything is opened. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { ask } from '../fakes/client.ts'
import { type ChildService, cli, cliJson, dataFolder, spawnService } from '../fakes/service.ts'
import { freePort } from '../free-port.ts'

const ROUNDS = process.env.TAPELINE_SOAK === undefined ? 1 : 10
const folder = dataFolder()
let service: ChildService
before(async () => {
  service = await spawnService(folder.path)
})
after(async () => {
  await service.kill('SIGKILL')
  folder.remove()
})

const seed = Math.floor(Math.random() * 1e9)
let state = seed
/** 0 … 1, the same for the same seed. */
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 2 ** 32
}

test('a second service on the same folder reports who has it, and the first continues', async () => {
  await assert.rejects(spawnService(folder.path), (error: Error) => {
    assert.match(error.message, /ended with 1/)
    assert.match(
      error.message,
      new RegExp(`process ${service.pid}, since 20\\d\\d-\\S+Z, address ${service.url}`),
    )
    assert.doesNotMatch(error.message, /\n\s+at /, 'no stack')
    assert.doesNotMatch(error.message, /shown this once/)
    return true
  })
  assert.equal((await ask(`${service.url}/health`)).status, 200)
  const accounts = await cliJson<unknown[]>(folder.path, ['accounts', 'list'])
  assert.equal(accounts.length, 1, 'the command line works beside the service')
})

test('commands of a newer release do not upgrade the files of a running service', async () => {
  const file = join(folder.path, 'accounts.db')
  const setVersion = (version: number) => {
    const database = new DatabaseSync(file)
    try {
      const before = Number(database.prepare('PRAGMA user_version').get()?.user_version)
      database.exec(`PRAGMA user_version = ${version}`)
      return before
    } finally {
      database.close()
    }
  }
  const newest = setVersion(1)
  try {
    for (const args of [['accounts', 'list'], ['gaps']]) {
      const { code, stderr } = await cli(folder.path, args)
      assert.equal(code, 1)
      assert.match(
        stderr,
        /^The service that works on \S+ is of an older release, [^\n]+ restart it [^\n]+\n$/,
      )
    }
  } finally {
    assert.equal(setVersion(newest), 1)
  }
  assert.equal((await cli(folder.path, ['accounts', 'list'])).code, 0)
})

test('a port that is taken ends the start before the data folder is touched', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'tapeline-test-'))
  const unborn = join(parent, 'data')
  try {
    const env = { TAPELINE_PORT: new URL(service.url).port, TAPELINE_DATA: unborn, TAPELINE_PLANS: '' }
    await assert.rejects(spawnService(parent, { env }), /is taken\. TAPELINE_PORT sets another/)
    assert.equal(existsSync(unborn), false)
    const metrics = { ...env, TAPELINE_PORT: '0', TAPELINE_METRICS_PORT: env.TAPELINE_PORT }
    await assert.rejects(
      spawnService(parent, { env: metrics }),
      /is taken\. TAPELINE_METRICS_PORT sets another/,
    )
  } finally {
    rmSync(parent, { recursive: true })
  }
})

test('kill -9 frees the folder at once', async () => {
  await service.kill('SIGKILL')
  service = await spawnService(folder.path)
  assert.equal((await ask(`${service.url}/health`)).status, 200)
})

test('of two services that start within a random moment on one empty folder exactly one serves', async (t) => {
  t.diagnostic(`seed ${seed}`)
  for (let round = 0; round < ROUNDS; round++) {
    const fresh = dataFolder()
    const offsetMs = random() < 0.5 ? 0 : random() * 400
    const started = await Promise.allSettled([
      spawnService(fresh.path),
      new Promise((resolve) => setTimeout(resolve, offsetMs)).then(() => spawnService(fresh.path)),
    ])
    const serving = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const refused = started.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
    try {
      assert.equal(serving.length, 1, `seed ${seed}, offset ${offsetMs} ms: ${refused.join('\n')}`)
      assert.match(refused[0] ?? '', /Another Tapeline service works on the data folder/)
      const [winner] = serving
      assert.equal((await ask(`${winner?.url}/health`)).status, 200)
    } finally {
      await Promise.all(serving.map((each) => each.kill('SIGKILL')))
      fresh.remove()
    }
  }
})

test('while it starts, the port answers 503 with Retry-After; a connection from then does not hold up the stop', async () => {
  const port = await freePort()
  const fresh = dataFolder()
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: {
      ...process.env,
      TAPELINE_DATA: fresh.path,
      TAPELINE_PORT: String(port),
      TAPELINE_SANDBOX: 'off',
    },
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  try {
    const seen = new Set<number>()
    const endsAt = performance.now() + 180_000
    while (!seen.has(200) && performance.now() < endsAt) {
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
      // Far shorter than a start.
      await new Promise((resolve) => setTimeout(resolve, 3))
      if (answer === undefined) continue
      seen.add(answer.status)
      if (answer.status === 503) assert.equal(answer.headers.get('retry-after'), '1')
      await answer.text()
    }
    assert.deepEqual([...seen], [503, 200])
  } finally {
    child.kill('SIGTERM')
    await ended
    fresh.remove()
  }
})
